/*
 * A Global Arrays application loop: tasks from a shared counter; each gets blocks of two arrays, multiplies
 * them and accumulates the product into a third. Time per task over all processes, in microseconds. Then
 * single operations of the first process on data of the last process: patches of three sizes, and a counter;
 * then GA_Sync.
 *
 * usage: bench_ga    (any number of ranks)
 */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { blocks = 12, block = 24, n = blocks * block, repetitions = 7, largest = 4 * block };

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Each task adds a product to one block of C: two gets, a product, an accumulate. */
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

/* A clock that all processes of the host share, unlike MPI_Wtime: with more processes than cores, one may
 * start long after the others, so a time runs from the first start to the last end. */
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

static void print(const char* operation, int segments, int bytes, double microseconds) {
  const char* label = getenv("BENCH_LABEL");
  printf("ga,%s,%s,allocated,%d,%d,%.5f\n", label != NULL ? label : "ga", operation, segments, bytes,
         microseconds);
  fflush(stdout);
}

/* The target of an operation: a patch of an array of doubles, or one element of an array of counters. */
struct target {
  int array, lo[2], hi[2];
};
static double local[largest * largest];

static void get(struct target* at) {
  int ld = at->hi[1] - at->lo[1] + 1;
  NGA_Get(at->array, at->lo, at->hi, local, &ld);
}
static void put(struct target* at) {
  int ld = at->hi[1] - at->lo[1] + 1;
  NGA_Put(at->array, at->lo, at->hi, local, &ld);
}
static void accumulate(struct target* at) {
  double one = 1.0;
  int ld = at->hi[1] - at->lo[1] + 1;
  NGA_Acc(at->array, at->lo, at->hi, local, &ld, &one);
}
static void read_inc(struct target* at) { NGA_Read_inc(at->array, at->lo, 1); }

/* Collective. The first process repeats the operation in batches of about a millisecond; the others wait. */
static void measure(const char* name, void (*operation)(struct target*), struct target* at, int segments,
                    int bytes) {
  GA_Sync();
  if (GA_Nodeid() == 0) {
    double times[repetitions];
    int calls = 1;
    for (int i = 0; i < 10; ++i) operation(at);
    for (double took = 0; took < 5e-4; calls *= 2) {
      double start = now();
      for (int i = 0; i < calls; ++i) operation(at);
      took = now() - start;
    }
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      double start = now();
      for (int i = 0; i < calls; ++i) operation(at);
      times[repetition] = (now() - start) / calls * 1e6;
    }
    qsort(times, repetitions, sizeof(double), compare);
    print(name, segments, bytes, times[repetitions / 2]);
  }
  GA_Sync();
}

static void measure_operations(int array) {
  static const int sides[] = {1, block, largest};
  int last_process = GA_Nnodes() - 1, lo[2], hi[2];
  NGA_Distribution(array, last_process, lo, hi);
  for (int i = 0; i < 3; ++i) {
    int side = sides[i], bytes = side * (int)sizeof(double);
    struct target at = {array, {lo[0], lo[1]}, {lo[0] + side - 1, lo[1] + side - 1}};
    if (at.hi[0] > hi[0] || at.hi[1] > hi[1]) break;
    measure("get", get, &at, side, bytes);
    measure("put", put, &at, side, bytes);
    measure("acc", accumulate, &at, side, bytes);
  }
  int processes = GA_Nnodes(), chunk = 1;
  int counters = NGA_Create(C_LONG, 1, &processes, "counters", &chunk);
  GA_Zero(counters);
  struct target at = {counters, {last_process, 0}, {last_process, 0}};
  measure("read_inc", read_inc, &at, 1, 8);
  GA_Destroy(counters);
}

static void measure_sync(void) {
  enum { rounds = 500 };
  double times[repetitions];
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    GA_Sync();
    double start = now();
    for (int i = 0; i < rounds; ++i) GA_Sync();
    times[repetition] = last(now() - start) / rounds * 1e6;
  }
  qsort(times, repetitions, sizeof(double), compare);
  if (GA_Nodeid() == 0) print("sync", GA_Nnodes(), 0, times[repetitions / 2]);
}

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
  if (GA_Nodeid() == 0 && sum != 0.5 * 0.25 * block * 4 * n * n) {
    fprintf(stderr, "bench_ga: WRONG RESULT %f\n", sum);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  measure_operations(c);
  measure_sync();
  if (GA_Nodeid() == 0) {
    qsort(times, repetitions, sizeof(double), compare);
    print("application", GA_Nnodes(), 0, times[repetitions / 2]);
  }
  GA_Destroy(a);
  GA_Destroy(b);
  GA_Destroy(c);
  GA_Destroy(counter);
  GA_Terminate();
  MPI_Finalize();
  return 0;
}
