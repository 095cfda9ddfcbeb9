/** A bootstrap for a job whose processes share nothing but a directory: each process stores its address in
 * a file there, and has a FIFO by which processes of its host announce their end.
 * Plain C; needs neither MPI nor a process manager.
 *
 * Errors are reported by one line on stderr. Only the processes of the job may have access to the
 * directory: the files contain the secrets that give access to the memory of the processes. */
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

/** Joins the job of this directory as process `process`. The directory is created if it does not exist. A
 * request for a missing address waits for it for up to `timeout_ms` milliseconds. Returns nonzero if the
 * directory cannot be used, belongs to another user, or is accessible to other users. */
MPIX_ENGINE_API int mpix_file_bootstrap_open(const char* directory, uint64_t process, int timeout_ms,
                                             mpix_file_bootstrap_t** bootstrap);

/** The bootstrap for mpix_engine_create. Publishing fails if a process with this identity has published
 * before; the file of a process that ended without removing it must be deleted. Valid until
 * mpix_file_bootstrap_close. */
MPIX_ENGINE_API const struct mpix_bootstrap* mpix_file_bootstrap_get(mpix_file_bootstrap_t* bootstrap);

/** Returns the number of processes whose file is in the directory: they have published, and have not closed
 * their bootstrap. Stores the first `capacity` of them in `processes`, in ascending order. Any thread. */
MPIX_ENGINE_API size_t mpix_file_bootstrap_processes(mpix_file_bootstrap_t* bootstrap, uint64_t* processes,
                                                     size_t capacity);

/** Waits until mpix_file_bootstrap_processes would return at least `count`. Returns nonzero on timeout. */
MPIX_ENGINE_API int mpix_file_bootstrap_wait(mpix_file_bootstrap_t* bootstrap, size_t count);

/** Call it after the end of the engine. If this process has published, removes its file and notifies the
 * other processes of this host that it has ended. In a child made by fork() it does neither. NULL is
 * ignored. */
MPIX_ENGINE_API void mpix_file_bootstrap_close(mpix_file_bootstrap_t* bootstrap);

#ifdef __cplusplus
}
#endif
#endif
