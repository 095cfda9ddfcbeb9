/**
 * The one-sided engine for whoever hosts it: the component in Open MPI, a memory server, a test. Plain C.
 *
 * A process may have any number of engines. Each is a process of its own to all others, also to those in the
 * same operating system process, and shares nothing with them. What its host owes it stands in
 * struct mpix_bootstrap and struct mpix_engine_config.
 *
 * In a child made by fork() the engines are its parent's: there nothing may be called but
 * mpix_engine_destroy, which does nothing.
 */
#ifndef MPIX_ENGINE_H
#define MPIX_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/bootstrap.h"
#include "engine/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An engine. */
typedef struct mpix_engine mpix_engine_t;

/** Choice of paths, a bit each, for mpix_engine_config::paths. The agent serves what the others cannot. */
enum mpix_engine_path {
  MPIX_ENGINE_PATH_DIRECT = 1,       /**< loads and stores through a mapped segment */
  MPIX_ENGINE_PATH_CROSS_MEMORY = 2, /**< process_vm_readv and process_vm_writev */
  MPIX_ENGINE_PATH_RDMA = 4,         /**< UCX put and get with a remote key */
  MPIX_ENGINE_PATH_AGENT = 8         /**< active message executed by the target's agent */
};

struct mpix_engine_config {
  size_t size;               /**< sizeof(struct mpix_engine_config) of the host's build */
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
  int check;                 /**< nonzero: layers above verify what callers vouch for */
  int count_direct;          /**< nonzero: operations by load and store are counted; slower */
  int thread_multiple;       /**< nonzero: several application threads call at once */
  const char* interfaces;    /**< where UCX's TCP listens: names and IPv4 subnets separated by commas, behind a
                                  '^' those where it does not; NULL: as UCX has it. UCX_NET_DEVICES goes before */

  /** Drives the progress of everything else in the process once. Called, with `context`, by waiting application
   *  threads; may call mpix_engine_progress. May be NULL. */
  void (*progress)(void* context);
  /** Nonzero when processes share cores, so that a waiting one is to give its core away at once. May be NULL
   *  for never. */
  int (*yields_when_idle)(void* context);
  void* context;
};

/** Fills `config` with the defaults. */
MPIX_ENGINE_API void mpix_engine_config_init(struct mpix_engine_config* config);

/** Makes an engine, starts its agent and publishes its address. Both arguments are copied; what they point to
 *  must stay valid until mpix_engine_destroy. Returns 0; or, after one line on stderr, a status other than 0,
 *  and then nothing is left of the engine. */
MPIX_ENGINE_API int mpix_engine_create(const struct mpix_engine_config* config,
                                       const struct mpix_bootstrap* bootstrap, mpix_engine_t** engine);

/** Stops the agent, closes endpoints and releases all memory. Operations that are not complete are dropped.
 *  Nobody uses the engine any more when this is called. NULL: does nothing. */
MPIX_ENGINE_API void mpix_engine_destroy(mpix_engine_t* engine);

/** What a status that is returned here means: static text without a period. */
MPIX_ENGINE_API const char* mpix_engine_status_text(int status);

/** The blob by which other processes reach the engine; valid as long as it. */
MPIX_ENGINE_API void mpix_engine_address(const mpix_engine_t* engine, const void** address, size_t* length);

/** Drives communication once. Returns the number of events handled. Cheap when there is nothing to do. Any
 *  thread. */
MPIX_ENGINE_API int mpix_engine_progress(mpix_engine_t* engine);

/** How many operations of this process took which path, with how many bytes; indices in the order of
 *  mpix_engine_path. The direct path is 0 unless it is counted. */
struct mpix_engine_traffic {
  uint64_t operations[4];
  uint64_t bytes[4];
  uint64_t messages_sent;     /**< requests to other agents */
  uint64_t messages_executed; /**< requests of others that this process executed */
};

/** Fills `traffic`. */
MPIX_ENGINE_API void mpix_engine_read_traffic(const mpix_engine_t* engine, struct mpix_engine_traffic* traffic);

#ifdef __cplusplus
}
#endif
#endif
