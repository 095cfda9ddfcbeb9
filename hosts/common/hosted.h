/** The interface that the MPI host of a process, such as Open MPI's component, offers to the
 * libraries above it: its engine, and services that need the internals of an MPI library. A process has one
 * host. Plain C, because Open MPI's internal headers do not compile as C++. */
#ifndef MPIX_HOSTED_H
#define MPIX_HOSTED_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/config.h"
#include "engine/base/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As in engine/runtime/mpix_engine.h. */
typedef struct mpix_engine mpix_engine_t;

/** An MPI handle as a number: handles are pointers in some MPI libraries and integers in others. */
typedef uintptr_t mpix_handle_t;

/** The MPI host's state of a request that it has created. */
typedef struct mpix_host_request mpix_host_request_t;

/** The arguments of a notified operation on a window. */
struct mpix_host_notified {
  enum { mpix_notified_put, mpix_notified_get, mpix_notified_accumulate } kind;
  void* origin;
  int64_t origin_count;
  mpix_handle_t origin_type;
  int fetches; /**< nonzero: the accumulate returns the previous value of the target in `result` */
  void* result;
  int64_t result_count;
  mpix_handle_t result_type;
  int rank;
  int64_t disp;
  int64_t count;
  mpix_handle_t type;
  mpix_handle_t op;
  int notification;  /**< index of the counter */
  int missing_class; /**< error class if a missing counter is reported only after the call */
};

/** A call that orders or completes operations issued on a window in a passive-target epoch. */
struct mpix_host_flush {
  enum {
    mpix_flush_wait,          /**< the wait of MPIX_Win_flush_windows; only with `all` */
    mpix_flush_begin,         /**< starts the completion that mpix_flush_wait awaits; only with `all` */
    mpix_flush_order,         /**< MPIX_Win_order, MPIX_Win_order_all */
    mpix_flush_request,       /**< MPI_Win_flush, MPI_Win_flush_all, with a request */
    mpix_flush_request_local, /**< MPI_Win_flush_local, MPI_Win_flush_local_all, with a request */
    mpix_flush_thread,        /**< MPIX_Win_flush_thread, MPIX_Win_flush_thread_all */
  } kind;
  int all; /**< nonzero: all targets, and `rank` is ignored */
  int rank;
};

/** The failure of an operation with a request. Both functions are called by threads that may call MPI,
 * because `code` creates an MPI error code. Each function is called at most once. */
struct mpix_host_failure {
  /** Returns the error code when the MPI library sees the completion. Not called for a request that was freed
   * before. */
  int (*code)(void* context);
  /** Called at the end of the request. `reported` is 0 if the application freed the request before MPI
   * reported the error. */
  void (*end)(void* context, int reported);
};

/** Services for libmpix_rma. Every function may be called from any thread unless stated otherwise. */
struct mpix_host_ops {
  size_t size; /**< sizeof(struct mpix_host_ops) of the MPI host's build */

  /** Process identity of `rank` in the MPI_Comm `communicator`, in the remote group for an intercommunicator.
   * Returns 0, or nonzero if the rank does not exist or its process is unknown. */
  int (*process_of_rank)(mpix_handle_t communicator, int rank, uint64_t* process);

  /** Nonzero if `communicator` is a live communicator handle; never dereferences a dead one. */
  int (*communicator_is_live)(mpix_handle_t communicator);

  /** Nonzero if the MPI_Datatype `datatype`, a valid handle, may be used in communication. */
  int (*datatype_is_committed)(mpix_handle_t datatype);

  /** Creates an active request whose MPI_Request is `*handle`. Returns NULL on failure. request_complete
   * completes it. */
  mpix_host_request_t* (*request_create)(mpix_handle_t communicator, mpix_handle_t* handle);

  /** Completes a request from request_create, with 0 bytes in its status; the MPI library sees the completion
   * at its next progress. `failure` is NULL if the operation has succeeded; otherwise it must stay valid. */
  void (*request_complete)(mpix_host_request_t* request, const struct mpix_host_failure* failure,
                           void* context);

  /** Completes a request whose operation has succeeded before its call returns. Called by an application
   * thread; the MPI library sees the completion at once. */
  void (*request_finish)(mpix_host_request_t* request);

  /** An MPI_Request that is complete from the start and needs no resources. */
  mpix_handle_t (*request_completed)(void);

  /** Creates an inactive persistent request whose MPI_Request is `*handle`. Returns NULL on failure. `freed`
   * is called once, with the handle, when the application frees the request, before MPI can reuse the
   * handle. */
  mpix_host_request_t* (*request_create_persistent)(void (*freed)(mpix_handle_t handle),
                                                    mpix_handle_t* handle);

  /** Makes an inactive persistent request active, for request_complete to complete. */
  void (*request_start)(mpix_host_request_t* request, mpix_handle_t communicator);

  /** Whether a persistent request is active. */
  int (*request_is_active)(mpix_host_request_t* request);

  /** As request_create, for an operation on the MPI host's `window`, whose error handler reports a failure.
   * */
  mpix_host_request_t* (*window_request_create)(void* window, mpix_handle_t* handle);

  /* Windows at a memory server. All functions are NULL in an MPI host that does not create windows. */

  /** Nonzero if several threads of this process may call MPI at once. */
  int (*is_thread_multiple)(void);

  /** Number of targets of the MPI_Win `window`; -1 if it is not a window of the MPI host. */
  int (*window_targets)(mpix_handle_t window);

  /** Size in bytes of a target's memory in such a window, and its displacement unit. Returns an MPI error
   * class. */
  int (*window_region)(mpix_handle_t window, int rank, int64_t* bytes, int* disp_unit);

  /** Returns when all operations completed before on such a persistent window have the durability that the
   * server provides. Returns an MPI error class. */
  int (*window_persist)(mpix_handle_t window);

  /** The reason why this thread's most recent window creation failed: an MPI error class, and a text that
   * stays valid until the next window creation. MPI_SUCCESS if no reason is known. Also set by
   * the nam_ functions below. */
  int (*window_refusal)(const char** text);

  /** `refuse` nonzero: MPI rejects every call on the MPI_Comm `communicator`; 0: MPI accepts them again. */
  void (*communicator_refuse_calls)(mpix_handle_t communicator, int refuse);

  /** Number of processes that created the window with this port name at a memory server. `follow` is nonzero
   * if the caller consents to servers that only the owner of the window names (mpix_nam_follow).
   * Returns an MPI error class. */
  int (*nam_ranks)(const char* port, int follow, int* ranks);

  /** Names of windows at their memory servers. Return an MPI error class. `nam_lookup` writes `port`, a
   * buffer of `bytes` bytes, and also returns MPI_ERR_NAME if no server is known. */
  int (*nam_publish)(const char* name, const char* port);
  int (*nam_unpublish)(const char* name, const char* port);
  int (*nam_lookup)(const char* name, char* port, size_t bytes);

  /* Counters of a process on the MPI_Win `window`, which notified operations of other processes increment.
   * Return MPI error classes; MPI_ERR_WIN if the window does not belong to the MPI host. */

  /** Collective: replaces the counters of this process by `num` new ones. Errors keep the old counters:
   * MPI_ERR_RMA_SYNC if an access epoch is open, MPI_ERR_ARG if `num` is below the present number or above
   * the maximum. */
  int (*window_set_counters)(mpix_handle_t window, int num);
  /** NULL if this process has no counter with the index, or the window does not belong to the MPI host. */
  uint64_t* (*window_counter)(mpix_handle_t window, int index);
  int (*window_num_counters)(mpix_handle_t window, int rank, int* num);
  /** `request` may be NULL. */
  int (*window_notified)(mpix_handle_t window, const struct mpix_host_notified* operation,
                         mpix_handle_t* request);

  /** Adds attributes with these keys to all present and future windows of the MPI host: addresses of two
   * ints, the suggested and the maximum number of counters of a process, and the address of an MPI_Count, the
   * maximum value of a counter. Called once. */
  void (*window_add_counter_attributes)(int suggested_key, int max_key, int value_key);

  /** Returns an MPI error class; MPI_ERR_WIN if the window does not belong to the MPI host. Kinds of calls
   * without a request ignore `request`. */
  int (*window_flush)(mpix_handle_t window, const struct mpix_host_flush* call, mpix_handle_t* request);

  /** Passes the completions from request_complete to the MPI library and ends freed requests. Returns the
   * number of completions. Called by an application thread. */
  int (*deliver_completions)(void);

  /** Makes communicator_is_live return 0 for a communicator that the application frees and that MPI keeps as
   * long as requests need its error handler; `freed` 0 undoes that. NULL if MPI keeps none. */
  void (*communicator_set_freed)(mpix_handle_t communicator, int freed);

  /** From here on, `freed` is called with `argument` by the thread in which the application frees an
   * incomplete request from request_create; in some hosts also if it has just completed. `freed` may call
   * request_finish. The application must not have the handle yet. */
  void (*request_when_freed)(mpix_host_request_t* request, void (*freed)(uint64_t argument),
                             uint64_t argument);
};

/** Sets `engine` and `ops` as the MPI host of this process until the next call; NULL for both withdraws them.
 * Both must stay valid meanwhile. Not thread-safe with the queries below. A child made by fork() has no
 * host. */
MPIX_ENGINE_API void mpix_host_offer(mpix_engine_t* engine, const struct mpix_host_ops* ops);

/** The engine of this process, or NULL. */
MPIX_ENGINE_API mpix_engine_t* mpix_host_engine(void);

/** The services that were offered with the engine. */
MPIX_ENGINE_API const struct mpix_host_ops* mpix_host_operations(void);

/** Asks the MPI host to open its engine in MPI_Init. Called before MPI_Init by a library whose functions may
 * name any process at any time: a target need not call the library, so nothing else would open its engine. */
MPIX_ENGINE_API void mpix_host_request_early_open(void);
MPIX_ENGINE_API int mpix_host_early_open_requested(void);

/** Opens the engine of this process unless it is open. Returns 0, or nonzero if it cannot be opened. */
typedef int (*mpix_host_opener)(void);

/** Sets the MPI host's function for mpix_host_open; NULL withdraws it. */
MPIX_ENGINE_API void mpix_host_offer_opener(mpix_host_opener opener);

/** Opens the engine of this process unless it is open, if the MPI host has set an opener. Another process can
 * look up the engine's address once both processes have taken part in a collective MPI call after this call.
 * Returns the opener's result; nonzero without an opener. Callable from any thread. */
MPIX_ENGINE_API int mpix_host_open(void);

/** Nonzero if there is an MPI host that mpix_host_open asks. */
MPIX_ENGINE_API int mpix_host_can_open(void);

/** Adds what the environment requests (MPIX_RMA_TRACE) to the configuration of the process's engine. */
MPIX_ENGINE_API void mpix_host_read_environment(struct mpix_engine_config* config);

/** Nonzero if the environment (MPIX_HOST=public) requests the MPI host on public MPI although the MPI library
 * contains an MPI host. */
MPIX_ENGINE_API int mpix_host_is_public(void);

/** Records the reason (one line, without a period) why the MPI host offers no engine. */
MPIX_ENGINE_API void mpix_host_set_unavailable(const char* reason);

/** The reason why no engine is offered; "" if none is known. */
MPIX_ENGINE_API const char* mpix_host_unavailable_reason(void);

#ifdef __cplusplus
}
#endif
#endif
