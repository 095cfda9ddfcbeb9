/**
 * The boundary between the engine and the process that hosts it (the Open MPI component, or a unit
 * test). Plain C: Open MPI's internal headers do not compile as C++.
 *
 * The host starts and stops the engine and answers its questions through mpix_host_ops. The lower
 * part of the table serves the MPIX_RMA front end; the engine only carries the pointer.
 */
#ifndef MPIX_ENGINE_HOST_H
#define MPIX_ENGINE_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_ENGINE_API __attribute__((visibility("default")))

/** Services of the host. Every function may be called from any thread unless it says otherwise. */
struct mpix_host_ops {
  size_t size; /**< sizeof(struct mpix_host_ops) of the host's build */

  /** Address blob that process `process` published (see mpix_engine_address). Local to the caller
   *  from the engine's point of view: no action of the application is needed at the other process.
   *  Returns 0 and sets the outputs, valid until the engine stops; nonzero when it has none.
   *  Called from application threads only. */
  int (*peer_address)(uint64_t process, const void** address, size_t* length);

  /** Drives the progress of everything else in the process once. Called by waiting application
   *  threads. May call mpix_engine_progress. */
  void (*progress)(void);

  /** Nonzero when processes share cores, so that a waiting one is to give its core away at once. May be NULL
   *  for never. */
  int (*yields_when_idle)(void);

  /* ---- for the MPIX_RMA front end; may be NULL elsewhere ---- */

  /** Process identity of `rank` in the MPI_Comm `communicator`: of the remote group for an
   *  intercommunicator. Returns 0, or nonzero when there is no such rank. */
  int (*process_of_rank)(void* communicator, int rank, uint64_t* process);

  /** Nonzero when `communicator` is a live communicator handle; never dereferences a dead one. */
  int (*communicator_is_live)(void* communicator);

  /** Nonzero when the MPI_Datatype `datatype`, a valid handle, may be used in communication. */
  int (*datatype_is_committed)(void* datatype);

  /** A new active MPI_Request, or NULL. Completed by request_complete. */
  void* (*request_create)(void* communicator);

  /** Completes a request from request_create with the number of bytes transferred; the MPI library sees the
   *  completion at its next progress. `error_of` is NULL where the operation has succeeded. Otherwise the
   *  application thread that makes that progress calls it, once, with `context`: MPI error codes can be
   *  made by such a thread only. */
  void (*request_complete)(void* request, size_t bytes, int (*error_of)(void* context), void* context);

  /** Completes a request whose operation has succeeded when its call returns, on an application thread: the
   *  MPI library sees it at once. */
  void (*request_finish)(void* request);

  /** A request handle that is complete from the start and needs no resources. */
  void* (*request_completed)(void);

  /** A new inactive MPI_Request that can be used again and again, or NULL. `freed` is called once, when the
   *  application frees the request, before the handle can be given out anew. */
  void* (*request_create_persistent)(void (*freed)(void* request));

  /** Makes an inactive persistent request active, for request_complete to complete. */
  void (*request_start)(void* request, void* communicator);

  /** Whether a persistent request is active. */
  int (*request_is_active)(void* request);
};

/** Choice of paths, a bit each, for mpix_engine_config::paths. The agent serves what the others cannot. */
enum mpix_engine_path {
  MPIX_ENGINE_PATH_DIRECT = 1,       /**< loads and stores through a mapped segment */
  MPIX_ENGINE_PATH_CROSS_MEMORY = 2, /**< process_vm_readv and process_vm_writev */
  MPIX_ENGINE_PATH_RDMA = 4,         /**< UCX put and get with a remote key */
  MPIX_ENGINE_PATH_AGENT = 8         /**< active message executed by the target's agent */
};

struct mpix_engine_config {
  uint64_t process;          /**< identity of this process, unique in the job */
  unsigned paths;            /**< set of mpix_engine_path that may be used */
  int rdma_without_hardware; /**< nonzero: use the rdma path also where UCX emulates it */
  size_t fragment_bytes;     /**< largest payload of one agent message; 0: default */
  size_t window_bytes;       /**< most that is under way to a peer on the agent path; 0: default */
  size_t target_memory_bytes;  /**< memory of operations that wait to be sent to one peer; 0: default */
  size_t process_memory_bytes; /**< the same for all peers and for unsent messages; 0: default */
  size_t origins_memory_bytes; /**< what all origins together may make this process hold; 0: default */
  size_t max_endpoints;        /**< connections to other processes before idle ones are closed; 0: default */
  size_t heap_bytes;         /**< granularity of memory taken from the system for segments; 0: default */
  int agent_poll_us;         /**< how long the agent trusts a polling application before it
                                  serves messages itself, microseconds; 0: default */
  int verbose;               /**< 0 errors only, 1 life cycle, 2 paths and peers */
  int check;                 /**< nonzero: the front end verifies what callers vouch for */
  int count_direct;          /**< nonzero: operations by load and store are counted; slower */
  int thread_multiple;       /**< nonzero: several application threads call at once */
};

/** Fills `config` with the defaults. */
MPIX_ENGINE_API void mpix_engine_config_init(struct mpix_engine_config* config);

/** Starts the engine of this process. Returns 0, or nonzero after one line on stderr. `host` must stay
 *  valid until mpix_engine_stop. Not thread-safe; one engine per process. */
MPIX_ENGINE_API int mpix_engine_start(const struct mpix_engine_config* config,
                                      const struct mpix_host_ops* host);

/** For a host that does not start the engine, or a failed start: keeps the reason (one line, without a
 * period) for those who ask why it does not run. */
MPIX_ENGINE_API void mpix_engine_refuse(const char* reason);

/** The reason why the engine of this process does not run; "" when none is known. */
MPIX_ENGINE_API const char* mpix_engine_refusal(void);

/** The blob by which other processes reach this one; to be published by the host. */
MPIX_ENGINE_API int mpix_engine_address(const void** address, size_t* length);

/** Drives communication once. Returns the number of events handled. Cheap when there is nothing to
 *  do. Any thread. */
MPIX_ENGINE_API int mpix_engine_progress(void);

/** How many operations of this process took which path, with how many bytes; indices in the order of
 *  mpix_engine_path. The direct path is 0 unless it is counted. */
struct mpix_engine_traffic {
  uint64_t operations[4];
  uint64_t bytes[4];
  uint64_t messages_sent;     /**< requests to other agents */
  uint64_t messages_executed; /**< requests of others that this process executed */
};

/** Fills `traffic`, all zero when no engine runs. */
MPIX_ENGINE_API void mpix_engine_read_traffic(struct mpix_engine_traffic* traffic);

/** Stops the agent, closes endpoints and releases all memory. Operations that are not complete are
 *  dropped. Not thread-safe. */
MPIX_ENGINE_API void mpix_engine_stop(void);

#ifdef __cplusplus
}
#endif
#endif
