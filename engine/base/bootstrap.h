/**
 * How the engines of a job find each other: what an engine asks of whoever knows the job, such as a process
 * manager. Plain C.
 */
#ifndef MPIX_ENGINE_BOOTSTRAP_H
#define MPIX_ENGINE_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One for each engine. Every function is handed `context`; returns 0, or nonzero where it fails; and must
 * not call the engine. */
struct mpix_bootstrap {
  size_t size;   /**< sizeof(struct mpix_bootstrap) of the host's build */
  void* context; /**< the host's */

  /** Who the engine is: unique in the job, and never given to another one. Of two engines in one operating
   *  system process each has its own. */
  uint64_t process;

  /** Makes the blob by which the engine is reached known to the others. Called once, when the engine has
   *  started and takes messages. The bytes are valid during the call. */
  int (*publish)(void* context, const void* address, size_t length);

  /** The blob that process `process` published. Local to the caller from the engine's point of view: no action
   *  of an application is needed at the other process. The outputs are valid until the next call.
   *  Nonzero: it has none. Called from application threads only, from any of them, one at a time. */
  int (*peer_address)(void* context, uint64_t process, const void** address, size_t* length);

  /** A file descriptor that becomes readable when processes have gone. May be NULL, and so may next_gone, for
   *  who is not told. */
  int (*gone_fd)(void* context);

  /** The next process that has gone for good; each is told once. What is under way to it ends, and it is
   *  reached no more. Nonzero: no more for now. Does not block. Called by the engine's agent only. */
  int (*next_gone)(void* context, uint64_t* process);
};

#ifdef __cplusplus
}
#endif
#endif
