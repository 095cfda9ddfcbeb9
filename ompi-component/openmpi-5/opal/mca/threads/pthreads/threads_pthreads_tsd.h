/* As threads_pthreads_mutex.h beside it. */
#ifndef MPIX_THREADS_PTHREADS_TSD_H
#define MPIX_THREADS_PTHREADS_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

#endif
