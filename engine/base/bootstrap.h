/** The bootstrap: how the engines of a job find each other. The process manager, or another component that
 * knows the job, implements this interface. Plain C. */
#ifndef MPIX_ENGINE_BOOTSTRAP_H
#define MPIX_ENGINE_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One object per engine. Every function receives `context` and must not call the engine. All but exit_fd
 * return 0, or nonzero on failure. */
struct mpix_bootstrap {
  size_t size;   /**< sizeof(struct mpix_bootstrap) of the MPI host's build */
  void* context; /**< passed to every function */

  /** Identity of the engine: unique in the job and never reused. Two engines in one operating-system
   * process have different identities. */
  uint64_t process;

  /** Publishes the blob that contains the engine's address. Called once, at the end of the engine's start.
   * The bytes are valid during the call. */
  int (*publish)(void* context, const void* address, size_t length);

  /** Returns the blob that process `process` published. Needs no action of the application at the other
   * process. The outputs are valid until the next call. Returns nonzero if there is no blob. Called from any
   * thread, by one thread at a time, after await_address has succeeded if there is one. */
  int (*peer_address)(void* context, uint64_t process, const void** address, size_t* length);

  /** Returns a file descriptor that becomes readable when processes have ended. exit_fd and next_exited may
   * be NULL if the bootstrap does not receive such notifications. */
  int (*exit_fd)(void* context);

  /** Returns the next process that has ended permanently; each is returned once. Operations to it fail,
   * and it is not contacted again. Returns nonzero if there is none at present. Does not block. Called by
   * the engine's agent only. */
  int (*next_exited)(void* context, uint64_t* process);

  /** Waits until peer_address need not wait for this process. Returns nonzero if there is no blob. Called
   * from any thread, the engine's agent included, by several threads at once. May be NULL: then operations
   * to all processes wait while peer_address waits. */
  int (*await_address)(void* context, uint64_t process);
};

#ifdef __cplusplus
}
#endif
#endif
