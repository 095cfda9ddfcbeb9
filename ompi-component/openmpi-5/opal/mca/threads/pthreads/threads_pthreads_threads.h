/* As threads_pthreads_mutex.h beside it. */
#ifndef MPIX_THREADS_PTHREADS_THREADS_H
#define MPIX_THREADS_PTHREADS_THREADS_H

#include <pthread.h>
#include <sched.h>

static inline void opal_thread_yield(void)
{
    sched_yield();
}

#endif
