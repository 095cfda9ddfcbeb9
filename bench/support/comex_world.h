/*
 * Included before a benchmark that is linked with ComEx: MPI_COMM_WORLD is the communicator of the processes
 * that compute, once ComEx has started. ComEx's runtime MPI-PR keeps a process of each host for itself, and
 * MPI-PT needs MPI_THREAD_MULTIPLE. A process that waits for the others does so in ComEx's barrier: under
 * MPI-TS nobody else serves the operations that arrive meanwhile.
 */
#ifndef BENCH_COMEX_WORLD_H
#define BENCH_COMEX_WORLD_H
#define BENCH_COMEX
#include <mpi.h>
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD bench_comex_world()
#ifdef __cplusplus
extern "C" {
#endif
#include <armci.h>
#include <message.h> /* which ARMCI-MPI's armci.h includes */
extern int bench_comex_level;
MPI_Comm bench_comex_world(void);
int bench_comex_barrier(MPI_Comm comm);
#ifdef __cplusplus
}
#endif
#define MPI_Barrier(comm) bench_comex_barrier(comm)
#ifdef BENCH_COMEX_THREADS
#define MPI_Init(argc, argv) MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &bench_comex_level)
#endif
#endif
