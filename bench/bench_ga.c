/*
 * A Global Arrays application loop: tasks from a shared counter; each gets blocks of two arrays, multiplies
 * them and accumulates the product into a third. Time per task over all processes, in microseconds.
 *
 * usage: bench_ga    (any number of ranks)
 */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { blocks = 12, block = 24, n = blocks * block, repetitions = 7 };

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* One block of C for each task: two gets, a product, an accumulate. */
static void run_tasks(int a, int b, int c, int counter) {
  static double left[block * block], right[block * block], product[block * block];
  int zero = 0;
  double one = 1.0;
  for (;;) {
    long task = NGA_Read_inc(counter, &zero, 1);
    if (task >= blocks * blocks * 4) {
      break;
    }
    int i = (int)task / 4 / blocks * block, j = (int)task / 4 % blocks * block,
        k = (int)(task * 5 % blocks) * block;
    int alo[] = {i, k}, ahi[] = {i + block - 1, k + block - 1};
    int blo[] = {k, j}, bhi[] = {k + block - 1, j + block - 1};
    int clo[] = {i, j}, chi[] = {i + block - 1, j + block - 1};
    int ld = block;
    NGA_Get(a, alo, ahi, left, &ld);
    NGA_Get(b, blo, bhi, right, &ld);
    for (int x = 0; x < block * block; ++x) {
      product[x] = 0;
    }
    for (int x = 0; x < block; ++x) {
      for (int z = 0; z < block; ++z) {
        for (int y = 0; y < block; ++y) {
          product[x * block + y] += left[x * block + z] * right[z * block + y];
        }
      }
    }
    NGA_Acc(c, clo, chi, product, &ld, &one);
  }
}

/* MPI_Wtime of two processes may differ; with more processes than cores, one may start long after the
 * others. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double of_all(double value, MPI_Op op) {
  double result;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return result;
}
static double first(double start) { return of_all(start, MPI_MIN); }
static double last(double end) { return of_all(end, MPI_MAX); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  GA_Initialize();
  MA_init(C_DBL, 500000, 500000);
  int dims[] = {n, n}, one = 1, chunk[] = {-1, -1};
  int a = NGA_Create(C_DBL, 2, dims, "a", chunk);
  int b = GA_Duplicate(a, "b"), c = GA_Duplicate(a, "c");
  int counter = NGA_Create(C_LONG, 1, &one, "counter", chunk);
  double value = 0.5, times[repetitions];
  GA_Fill(a, &value);
  GA_Fill(b, &value);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    GA_Zero(c);
    GA_Zero(counter);
    GA_Sync();
    double start = now();
    run_tasks(a, b, c, counter);
    GA_Sync();
    times[repetition] = (last(now()) - first(start)) / (blocks * blocks * 4) * 1e6;
  }
  /* Every block received four products of constant blocks. */
  double sum = GA_Ddot(c, a);
  if (GA_Nodeid() == 0) {
    const char* label = getenv("BENCH_LABEL");
    qsort(times, repetitions, sizeof(double), compare);
    if (sum != 0.5 * 0.25 * block * 4 * n * n) {
      fprintf(stderr, "bench_ga: WRONG RESULT %f\n", sum);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    printf("ga,%s,application,allocated,%d,0,%.5f\n", label != NULL ? label : "ga", GA_Nnodes(),
           times[repetitions / 2]);
  }
  GA_Destroy(a);
  GA_Destroy(b);
  GA_Destroy(c);
  GA_Destroy(counter);
  GA_Terminate();
  MPI_Finalize();
  return 0;
}
