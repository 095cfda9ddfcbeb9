/* A subset of Open MPI 5.0's header of this name, for the reason given in threads_pthreads_mutex.h. */
#ifndef MPIX_THREADS_PTHREADS_TSD_H
#define MPIX_THREADS_PTHREADS_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

#endif
