/*
 * A dynamically load-balanced loop with Global Arrays.
 *
 * Tasks of uneven cost are numbered by a shared counter (NGA_Read_inc): a free process takes the next one,
 * and adds the task's contribution to a global histogram with NGA_Acc. At the end the histogram is compared
 * with the one of a serial loop.
 *
 * Run: mpirun -np 4 ./ga_taskloop
 */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    tasks = 2000,
    bins = 97,
    width = 5
};

/* The first bin of a task, and the task's contribution to the i-th bin from there. */
static int bin_of(int task)
{
    return (task * 31) % (bins - width + 1);
}

static double contribution(int task, int i)
{
    double sum = 0;
    for (int k = 0; k < 50 * (task % 13); ++k) {
        sum += 1e-9 * k; /* uneven work */
    }
    return task + i + sum - sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 100000, 100000);
    int one = 1, many = bins, zero = 0;
    int counter = NGA_Create(C_LONG, 1, &one, "next task", NULL);
    int histogram = NGA_Create(C_DBL, 1, &many, "histogram", NULL);
    GA_Zero(counter);
    GA_Zero(histogram);
    GA_Sync();

    double scale = 1.0;
    int done = 0;
    for (long task = NGA_Read_inc(counter, &zero, 1); task < tasks; task = NGA_Read_inc(counter, &zero, 1)) {
        double values[width];
        for (int i = 0; i < width; ++i) {
            values[i] = contribution((int) task, i);
        }
        int lo = bin_of((int) task), hi = lo + width - 1, ld = width;
        NGA_Acc(histogram, &lo, &hi, values, &ld, &scale);
        ++done;
    }
    GA_Sync();

    int wrong = 0;
    double got[bins], expected[bins] = {0};
    for (int task = 0; task < tasks; ++task) {
        for (int i = 0; i < width; ++i) {
            expected[bin_of(task) + i] += contribution(task, i);
        }
    }
    int lo = 0, hi = bins - 1, ld = bins;
    NGA_Get(histogram, &lo, &hi, got, &ld);
    for (int i = 0; i < bins; ++i) {
        if (got[i] != expected[i]) {
            ++wrong;
        }
    }
    GA_Igop(&done, 1, "+");
    GA_Igop(&wrong, 1, "+");
    if (done != tasks) {
        ++wrong;
    }
    if (GA_Nodeid() == 0) {
        printf("%d tasks on %d processes: %s\n", done, GA_Nnodes(),
               wrong == 0 ? "result correct" : "RESULT WRONG");
    }
    GA_Destroy(counter);
    GA_Destroy(histogram);
    GA_Terminate();
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
