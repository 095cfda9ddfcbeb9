/* The start of a job: rank 0 prints, as CSV, the time of MPI_Init (the longest of all ranks, in us), its CPU time (mean
 * of the ranks, in us), the threads of rank 0 after it, and time and CPU time of the first creation of a window.
 *
 * usage: bench_startup or bench_startup_linked    (any number of ranks) */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#ifdef MPIX_BENCH_LINKED
#include "include/mpix_rma.h"
#endif

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static double cpu_time(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return 1e6 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int threads(void)
{
    int found = 0;
    DIR* const directory = opendir("/proc/self/task");
    while (directory != NULL && readdir(directory) != NULL) ++found;
    if (directory != NULL) closedir(directory);
    return found - 2; /* . and .. */
}

int main(int argc, char** argv)
{
    double time = now();
    double cpu = cpu_time();
    MPI_Init(&argc, &argv);
    time = now() - time;
    cpu = cpu_time() - cpu;
#ifdef MPIX_BENCH_LINKED
    int version = 0;
    int subversion = 0;
    MPIX_RMA_Get_version(&version, &subversion); /* a linker may leave out a library that nothing refers to */
#endif
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int running = threads();
    double longest = 0;
    double sum = 0;
    MPI_Reduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&cpu, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double creation = now();
    double creation_cpu = cpu_time();
    void* base = NULL;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Barrier(MPI_COMM_WORLD);
    creation = now() - creation;
    creation_cpu = cpu_time() - creation_cpu;
    double creation_sum = 0;
    MPI_Reduce(&creation_cpu, &creation_sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Win_free(&window);
    if (rank == 0)
        printf("%.1f,%.1f,%d,%.1f,%.1f\n", longest, sum / size, running, creation, creation_sum / size);
    MPI_Finalize();
    return 0;
}
