/*
 * Blocked matrix multiplication with Global Arrays.
 *
 * A, B and C are distributed over all processes. The processes take blocks of C in turn. For each block a
 * process gets the blocks of A and B with one-sided gets, multiplies them locally and accumulates the
 * products into C. At the end each process compares rows of C with values computed from the formula of the
 * elements.
 *
 * Build: mpicc ga_matmul.c $(ga-config --cppflags) $(pkg-config --variable=drop_in armci) \
 *              $(ga-config --ldflags --libs --flibs) -o ga_matmul
 * Run: mpirun -np 2 ./ga_matmul
 */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    block = 48
};

static double a_element(int i, int j)
{
    return (i % 7) - 0.25 * (j % 5);
}
static double b_element(int i, int j)
{
    return 0.5 * (i % 3) + (j % 11) - 2;
}

/* Every process fills the part of the array that it owns. */
static void fill(int array, double (*element)(int, int))
{
    int lo[2], hi[2], ld[1];
    double *data;
    NGA_Distribution(array, GA_Nodeid(), lo, hi);
    if (lo[0] < 0 || hi[0] < lo[0]) {
        return; /* owns nothing */
    }
    NGA_Access(array, lo, hi, &data, ld);
    for (int i = lo[0]; i <= hi[0]; ++i) {
        for (int j = lo[1]; j <= hi[1]; ++j) {
            data[(i - lo[0]) * ld[0] + (j - lo[1])] = element(i, j);
        }
    }
    NGA_Release_update(array, lo, hi);
}

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* c += a * b for blocks of at most block x block, all with leading dimension `block`. */
static void multiply(const double *a, const double *b, double *c, int rows, int inner, int columns)
{
    for (int i = 0; i < rows; ++i) {
        for (int k = 0; k < inner; ++k) {
            for (int j = 0; j < columns; ++j) {
                c[i * block + j] += a[i * block + k] * b[k * block + j];
            }
        }
    }
}

static void compute(int a, int b, int c, int n)
{
    static double a_block[block * block], b_block[block * block], c_block[block * block];
    const int blocks = (n + block - 1) / block;
    int ld[1] = {block};
    double one = 1.0;
    for (int task = GA_Nodeid(); task < blocks * blocks; task += GA_Nnodes()) {
        int i = task / blocks * block, j = task % blocks * block;
        int c_lo[2] = {i, j}, c_hi[2] = {min(i + block, n) - 1, min(j + block, n) - 1};
        for (int k = 0; k < n; k += block) {
            int a_lo[2] = {i, k}, a_hi[2] = {c_hi[0], min(k + block, n) - 1};
            int b_lo[2] = {k, j}, b_hi[2] = {a_hi[1], c_hi[1]};
            NGA_Get(a, a_lo, a_hi, a_block, ld);
            NGA_Get(b, b_lo, b_hi, b_block, ld);
            for (int x = 0; x < block * block; ++x) {
                c_block[x] = 0;
            }
            multiply(a_block, b_block, c_block, c_hi[0] - i + 1, a_hi[1] - k + 1, c_hi[1] - j + 1);
            NGA_Acc(c, c_lo, c_hi, c_block, ld, &one);
        }
    }
    GA_Sync();
}

/* Returns the number of wrong elements among the rows that this process checks. */
static int check(int c, int n)
{
    int wrong = 0;
    double *row = malloc((size_t) n * sizeof(double));
    int ld[1] = {n};
    for (int i = GA_Nodeid(); i < n; i += GA_Nnodes()) {
        int lo[2] = {i, 0}, hi[2] = {i, n - 1};
        NGA_Get(c, lo, hi, row, ld);
        for (int j = 0; j < n; ++j) {
            double expected = 0;
            for (int k = 0; k < n; ++k) {
                expected += a_element(i, k) * b_element(k, j);
            }
            double difference = row[j] - expected;
            if (difference > 1e-6 || difference < -1e-6) {
                ++wrong;
            }
        }
    }
    free(row);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 1000000, 1000000);
    int n = argc > 1 ? atoi(argv[1]) : 300;
    int dims[2] = {n, n};
    int a = NGA_Create(C_DBL, 2, dims, "A", NULL);
    int b = NGA_Create(C_DBL, 2, dims, "B", NULL);
    int c = NGA_Create(C_DBL, 2, dims, "C", NULL);
    fill(a, a_element);
    fill(b, b_element);
    GA_Zero(c);
    GA_Sync();
    double start = MPI_Wtime();
    compute(a, b, c, n);
    double seconds = MPI_Wtime() - start;
    int wrong = check(c, n);
    GA_Igop(&wrong, 1, "+");
    if (GA_Nodeid() == 0) {
        printf("Global Arrays: %d x %d matrix product on %d processes in %.3f s: %s\n", n, n, GA_Nnodes(),
               seconds, wrong == 0 ? "result correct" : "RESULT WRONG");
    }
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
    GA_Terminate();
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
