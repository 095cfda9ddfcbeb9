/** The configuration and callbacks of an engine's MPI host. Plain C. */
#ifndef MPIX_ENGINE_CONFIG_H
#define MPIX_ENGINE_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/protocols.h"

/** For mpix_engine_config::batch_bytes: every operation is a message of its own. */
#define MPIX_ENGINE_NO_BATCHES SIZE_MAX

/** For mpix_engine_config::idle_memory_bytes: no freed memory is kept. */
#define MPIX_ENGINE_KEEP_NOTHING SIZE_MAX

struct mpix_engine_config {
  size_t size;                  /**< sizeof(struct mpix_engine_config) of the MPI host's build */
  unsigned protocols;           /**< set of mpix_engine_protocol that may be used */
  int network_without_hardware; /**< nonzero: use the network protocol also where UCX emulates it */
  size_t fragment_bytes;        /**< largest payload of one message; 0: default */
  size_t credit_bytes;          /**< maximum bytes in flight to a peer by messages; 0: default */
  size_t target_memory_bytes;   /**< maximum for operations that wait to be sent to one peer; 0: default */
  size_t process_memory_bytes;  /**< the same for all peers together, with unsent messages; 0: default */
  size_t origins_memory_bytes;  /**< bytes for requests of all origins at this process, beside a fragment and
                                   128 KiB for each origin; 0: default */
  size_t max_endpoints;         /**< connections to other processes before idle ones are closed; 0: default */
  size_t heap_bytes;            /**< granularity of memory taken from the system for segments; 0: default */
  int agent_poll_us;            /**< microseconds between the agent's checks whether the application has
                                     polled since; if not, it executes messages itself; 0: default */
  /** Cores of the agent's thread: a list such as "0,2-3", "bound" for the cores that the process is bound
   * to, or "auto" (or NULL) for cores that no process of the job is bound to, if this process is bound to
   * cores and the host has such cores. */
  const char* agent_cores;
  int verbose;         /**< 0 errors only, 1 life cycle, 2 protocols and peers */
  int check;           /**< nonzero: layers above verify memory that callers declare communicatable */
  int count_direct;    /**< nonzero: operations by load and store are counted; slower */
  int thread_multiple; /**< nonzero: several application threads call at once */
  int channels;        /**< number of channels; threads that use different channels do not wait for each
                            other; at most 16; 0: default */
  const char* interfaces; /**< for UCX's TCP: names and IPv4 subnets separated by commas. A
                               leading '^' excludes them; a leading '+' adds the loopback interface. NULL:
                             UCX's default. UCX_NET_DEVICES takes precedence */

  /** Runs one pass of everything else in the process that needs progress, such as the MPI library. Waiting
   * application threads call it with `context`; it may call mpix_engine_progress. May be NULL. */
  void (*progress)(void* context);
  /** Nonzero if processes share cores, so that a waiting process should yield at once. May be NULL for
   * never. */
  int (*yields_when_idle)(void* context);
  void* context;

  size_t batch_bytes;       /**< largest batch: a message of several small operations to one target;
                                0: default, MPIX_ENGINE_NO_BATCHES: no batches */
  size_t idle_memory_bytes; /**< freed segment memory that is kept for later segments; 0: default,
                               MPIX_ENGINE_KEEP_NOTHING: all of it is returned to the system at once */
  int agent_linger_us;      /**< most microseconds that the agent polls for the next message before it
                                 sleeps, if messages arrive that fast; 0: default, negative: never */
  /** Nonzero: other processes, even of this host, access exposed memory only, and only by messages or, if
   * `protocols` permits, by UCX put and get. They may belong to several jobs with overlapping identities. The
   * MPI host guarantees that exposed memory is mapped. */
  int exposed_only;
  /** A table (engine/sync/stripes.hpp) that replaces the engine's own, if other software updates the
   * memory too and knows it by addresses that are equal modulo stripe_period; NULL: none. */
  void* stripes;
  int ring_us;     /**< microseconds that an origin waits for a target of its host to poll the target's
                           ring; then the origin uses another protocol. The ring serves operations on
                           memory that is not mapped. 0: default, negative: the ring is not used */
  int prefault;   /**< nonzero: a thread prefaults mapped memory of peers */
  int numa_memory; /**< nonzero: memory for segments is allocated on the NUMA node that the process is
                      bound to */
  /** Nonzero: messages of sessions, except for the handshake, are encrypted and authenticated. Requires
   * `exposed_only`, and excludes MPIX_ENGINE_PROTOCOL_NETWORK, which does not encrypt. */
  int encrypt;
  /** Nonzero: the engine logs a line if the network has no put and get in hardware and
   * network_without_hardware is not set. */
  int network_hardware_expected;
  size_t replies_memory_bytes; /**< maximum bytes for unsent replies of this
                                  process; each origin gets a share; 0: no bound. At least 16 MiB */
  size_t session_processes;    /**< processes that a session (engine/runtime/sessions.h) may have at a time;
                                    0: no bound */
  size_t same_address_base;    /**< lowest address of segments that have the same address in several
                                    processes; 0: default */
  /** Copy methods: a list in the format of parameter `copy`; "auto" or NULL: as measured on the host. */
  const char* copy_methods;
  /** Nonzero: UCX starts with the first message instead of with the engine, if one_host is set,
   * network_without_hardware and exposed_only are not, and the host has no devices with memory. */
  int defer_network;
  /** Nonzero: all processes of the job are on this host, as far as the MPI host knows. */
  int one_host;
  const char* trace; /**< directory for a trace of all operations, which slows them; NULL: no trace */
};

#endif
