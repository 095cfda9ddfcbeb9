/**
 * A job whose processes have a directory in common, and nothing else: each makes its address a file there, and
 * a FIFO by which those of its host tell it that they go.
 * Plain C; needs neither MPI nor a process manager.
 *
 * What fails is told by one line on stderr. Nothing but the processes of the job may be able to look into the
 * directory: the files hold what admits to the memory of the processes.
 */
#ifndef MPIX_ENGINE_FILE_BOOTSTRAP_H
#define MPIX_ENGINE_FILE_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/bootstrap.h"
#include "engine/base/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpix_file_bootstrap mpix_file_bootstrap_t;

/** Becomes process `process` of the job with this directory, which is made where it does not exist. Whoever
 * asks for an address that is not there waits for it for `timeout_ms` milliseconds. Nonzero: the directory
 * cannot be used, or belongs to another user, or others can look into it. */
MPIX_ENGINE_API int mpix_file_bootstrap_open(const char* directory, uint64_t process, int timeout_ms,
                                             mpix_file_bootstrap_t** bootstrap);

/** For mpix_engine_create. Publishing fails where a process with this identity has published before; its file
 * is to be removed if it is one that has ended without doing so. Valid until mpix_file_bootstrap_close. */
MPIX_ENGINE_API const struct mpix_bootstrap* mpix_file_bootstrap_get(mpix_file_bootstrap_t* bootstrap);

/** The processes that have published and not gone, this one among them, in ascending order: fills the first
 *  `capacity` places of `processes` and returns how many there are. Any thread. */
MPIX_ENGINE_API size_t mpix_file_bootstrap_processes(mpix_file_bootstrap_t* bootstrap, uint64_t* processes,
                                                     size_t capacity);

/** Waits until there are at least `count` of them; nonzero when that takes longer than the timeout. */
MPIX_ENGINE_API int mpix_file_bootstrap_wait(mpix_file_bootstrap_t* bootstrap, size_t count);

/** After the end of the engine: removes the file, by which the others know that the process has gone. In a
 * child made by fork() it removes nothing. NULL: does nothing. */
MPIX_ENGINE_API void mpix_file_bootstrap_close(mpix_file_bootstrap_t* bootstrap);

#ifdef __cplusplus
}
#endif
#endif
