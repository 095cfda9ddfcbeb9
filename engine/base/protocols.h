/** The protocols. The parameter `path` selects among them. Plain C. */
#ifndef MPIX_ENGINE_PROTOCOLS_H
#define MPIX_ENGINE_PROTOCOLS_H

/**
 * One row for each protocol: PROTOCOL(name, NAME, number, means).
 *
 * `name` is the word in the parameter `path`, in statistics and in traces. The numbers are those of
 * MPIX_RMA_PROTOCOL_* less 1: they never change, and a new protocol gets the next one. `means` is what moves
 * the data.
 */
#define MPIX_ENGINE_PROTOCOLS(PROTOCOL)                                              \
  PROTOCOL(direct, DIRECT, 0, "load and store; 0 unless osc_mpix_statistics is set") \
  PROTOCOL(cross_memory, CROSS_MEMORY, 1, "process_vm_readv and process_vm_writev")  \
  PROTOCOL(network, NETWORK, 2, "UCX put and get")                                   \
  PROTOCOL(ring, RING, 3, "requests in the shared memory of a process that polls")   \
  PROTOCOL(message, MESSAGE, 4,                                                      \
           "messages, executed by a thread of the target that is in the library, or by its agent")

#define MPIX_ENGINE_COUNT_PROTOCOL_(name, NAME, number, means) +1
#define MPIX_ENGINE_PROTOCOL_COUNT (0 MPIX_ENGINE_PROTOCOLS(MPIX_ENGINE_COUNT_PROTOCOL_))

#define MPIX_ENGINE_PROTOCOL_BIT_(name, NAME, number, means) MPIX_ENGINE_PROTOCOL_##NAME = 1 << (number),

/** The protocols that may execute an operation, one bit each, for mpix_engine_config::protocols. Messages
 * serve everything that the other protocols cannot. */
enum mpix_engine_protocol {
  MPIX_ENGINE_PROTOCOLS(MPIX_ENGINE_PROTOCOL_BIT_) MPIX_ENGINE_PROTOCOL_ALL =
      (1 << MPIX_ENGINE_PROTOCOL_COUNT) - 1
};

#endif
