/**
 * What the host of a process, such as the component in Open MPI, offers to the libraries above it: its
 * engine, and what only the inside of an MPI library can give. One of each in a process. Plain C: Open MPI's
 * internal headers do not compile as C++.
 */
#ifndef MPIX_HOSTING_HOSTED_H
#define MPIX_HOSTING_HOSTED_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As in engine/runtime/mpix_engine.h. */
typedef struct mpix_engine mpix_engine_t;

/** An MPI handle as a number: in some MPI libraries they are pointers, in others integers. */
typedef uintptr_t mpix_handle_t;

/** What the host keeps of a request that it has made. */
typedef struct mpix_host_request mpix_host_request_t;

/** A notified operation on a window, as MPI's call has it. */
struct mpix_host_notified {
  enum { mpix_notified_put, mpix_notified_get, mpix_notified_accumulate } kind;
  void* origin;
  int64_t origin_count;
  mpix_handle_t origin_type;
  int fetches; /**< of an accumulate: there is a result */
  void* result;
  int64_t result_count;
  mpix_handle_t result_type;
  int rank;
  int64_t disp;
  int64_t count;
  mpix_handle_t type;
  mpix_handle_t op;
  int notification; /**< index of the counter */
};

/** A call that orders or completes what was issued on a window in an epoch of passive targets. */
struct mpix_host_flush {
  enum {
    mpix_flush_wait,          /**< MPI_Win_flush, MPI_Win_flush_all */
    mpix_flush_begin,         /**< asks for what the former waits for; of all targets only */
    mpix_flush_order,         /**< what was issued before takes effect before what is issued later */
    mpix_flush_request,       /**< as mpix_flush_wait, with a request */
    mpix_flush_request_local, /**< MPI_Win_flush_local, MPI_Win_flush_local_all, with a request */
  } kind;
  int all; /**< nonzero: to all targets, `rank` does not count */
  int rank;
};

/** The failure of an operation with a request. Both are called by application threads, for MPI error codes
 * can be made by such a thread only, and each at most once. */
struct mpix_host_failure {
  /** The error code, when the MPI library sees the completion. Not for a request that was freed before. */
  int (*code)(void* context);
  /** The end of the request. `asked` is 0 when the application has freed it and did not ask for the error. */
  void (*end)(void* context, int asked);
};

/** Services for the MPIX_RMA front end. Every function may be called from any thread unless it says
 *  otherwise. */
struct mpix_host_ops {
  size_t size; /**< sizeof(struct mpix_host_ops) of the host's build */

  /** Process identity of `rank` in the MPI_Comm `communicator`: of the remote group for an
   *  intercommunicator. Returns 0, or nonzero when there is no such rank. */
  int (*process_of_rank)(mpix_handle_t communicator, int rank, uint64_t* process);

  /** Nonzero when `communicator` is a live communicator handle; never dereferences a dead one. */
  int (*communicator_is_live)(mpix_handle_t communicator);

  /** Nonzero when the MPI_Datatype `datatype`, a valid handle, may be used in communication. */
  int (*datatype_is_committed)(mpix_handle_t datatype);

  /** A new active request whose MPI_Request is `*handle`, or NULL. Completed by request_complete. */
  mpix_host_request_t* (*request_create)(mpix_handle_t communicator, mpix_handle_t* handle);

  /** Completes a request from request_create with the number of bytes transferred; the MPI library sees the
   *  completion at its next progress. `failure` is NULL where the operation has succeeded; it stays valid. */
  void (*request_complete)(mpix_host_request_t* request, size_t bytes,
                           const struct mpix_host_failure* failure, void* context);

  /** Completes a request whose operation has succeeded when its call returns, on an application thread: the
   *  MPI library sees it at once. */
  void (*request_finish)(mpix_host_request_t* request);

  /** An MPI_Request that is complete from the start and needs no resources. */
  mpix_handle_t (*request_completed)(void);

  /** A new inactive request that can be used again and again, whose MPI_Request is `*handle`, or NULL.
   *  `freed` is called once, with the handle, when the application frees the request, before the handle can
   *  be given out anew. */
  mpix_host_request_t* (*request_create_persistent)(void (*freed)(mpix_handle_t handle),
                                                    mpix_handle_t* handle);

  /** Makes an inactive persistent request active, for request_complete to complete. */
  void (*request_start)(mpix_host_request_t* request, mpix_handle_t communicator);

  /** Whether a persistent request is active. */
  int (*request_is_active)(mpix_host_request_t* request);

  /** As request_create, of an operation on the host's `window`, whose error handler it concerns. */
  mpix_host_request_t* (*window_request_create)(void* window, mpix_handle_t* handle);

  /* Windows at a memory server. All are NULL in a host that makes no windows. */

  /** Targets of the MPI_Win `window`; -1 where it is not one of the host's. */
  int (*window_targets)(mpix_handle_t window);

  /** Memory of a target of such a window, bytes, and the unit of its displacements. MPI error class. */
  int (*window_region)(mpix_handle_t window, int rank, int64_t* bytes, int* disp_unit);

  /** Returns when what was completed before on such a window, a persistent one, is as durable as it is to be.
   * MPI error class. */
  int (*window_persist)(mpix_handle_t window);

  /** Why this thread's newest window could not be made: an MPI error class, and a text that stays until the
   * next window is made; MPI_SUCCESS: nothing is known. Of the calls below, too. */
  int (*window_refusal)(const char** text);

  /** Makes MPI refuse every call on the MPI_Comm `communicator`, until it is called with 0. */
  void (*communicator_refuse_calls)(mpix_handle_t communicator, int refuse);

  /** How many processes have made the window with this port name at a memory server. `follow`: nonzero for
   * the consent of mpix_nam_follow. MPI error class. */
  int (*nam_ranks)(const char* port, int follow, int* ranks);

  /** Names of such windows at their servers. MPI error class. `nam_lookup` has `port` in `bytes` bytes, and
   * is MPI_ERR_NAME where no server is known, too. */
  int (*nam_publish)(const char* name, const char* port);
  int (*nam_unpublish)(const char* name, const char* port);
  int (*nam_lookup)(const char* name, char* port, size_t bytes);

  /* Counters of a process on the MPI_Win `window`, which notified operations of others increment. MPI error
   * classes; MPI_ERR_WIN where the window is not one of the host's. */

  /** Collective: `num` counters for this process in the place of those that it has. MPI_ERR_RMA_SYNC: an
   * access epoch is open, MPI_ERR_ARG: `num` is negative; it keeps those that it has then. */
  int (*window_set_counters)(mpix_handle_t window, int num);
  /** NULL: this process has no counter with the index, or the window is not one of the host's. */
  uint64_t* (*window_counter)(mpix_handle_t window, int index);
  int (*window_num_counters)(mpix_handle_t window, int rank, int* num);
  /** `request` may be NULL. */
  int (*window_notified)(mpix_handle_t window, const struct mpix_host_notified* operation,
                         mpix_handle_t* request);

  /** From here on, and those that there are, the host's windows have attributes of these keys: addresses of
   * two ints, how many counters are suggested and how many a process can have, and of an MPI_Count, the
   * largest value of one. Once. */
  void (*window_show_counter_bounds)(int suggested_key, int most_key, int value_key);

  /** MPI error class; MPI_ERR_WIN where the window is not one of the host's. `request` is not used by kinds
   * without. */
  int (*window_flush)(mpix_handle_t window, const struct mpix_host_flush* call, mpix_handle_t* request);

  /** Shows the MPI library what request_complete has completed; requests that are freed end. Returns how
   * many. Called by an application thread. */
  int (*requests_show)(void);
};

/** Makes `engine` and `ops` those of this process, until they are offered anew; NULL for both: no more. Both
 *  stay valid meanwhile. Not while others ask for them. In a child made by fork() nothing is offered. */
MPIX_ENGINE_API void mpix_host_offer(mpix_engine_t* engine, const struct mpix_host_ops* ops);

/** The engine of this process, or NULL. */
MPIX_ENGINE_API mpix_engine_t* mpix_host_engine(void);

/** What was offered with it. */
MPIX_ENGINE_API const struct mpix_host_ops* mpix_host_operations(void);

/** Nonzero when the environment asks for the host on public MPI where the MPI library has another one inside:
 *  MPIX_HOST=public. */
MPIX_ENGINE_API int mpix_host_is_public(void);

/** For a host that offers no engine: keeps the reason (one line, without a period) for those who ask. */
MPIX_ENGINE_API void mpix_host_refuse(const char* reason);

/** The reason why no engine is offered; "" when none is known. */
MPIX_ENGINE_API const char* mpix_host_refusal(void);

#ifdef __cplusplus
}
#endif
#endif
