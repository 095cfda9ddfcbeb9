/* A subset of Open MPI 5.0's header of this name, for the reason given in threads_pthreads_mutex.h. */
#ifndef MPIX_THREADS_PTHREADS_THREADS_H
#define MPIX_THREADS_PTHREADS_THREADS_H

#include <pthread.h>
#include <sched.h>

static inline void opal_thread_yield(void)
{
    sched_yield();
}

#endif
