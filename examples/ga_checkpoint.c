/*
 * Checkpoint and restart of a Global Arrays program by a persistent window at a memory server.
 *
 * Heat spreads over a plate for a number of steps. Every ten steps the array is put into one of two copies in
 * the window, and, once that copy is durable, the number of the step into the window's first word: a job that
 * ends in the middle of a checkpoint leaves the previous copy valid. The next job finds the window by its
 * name, and goes on from there with any number of processes. At the end the array is compared with the result
 * of a serial computation.
 *
 * Build: mpicc ga_checkpoint.c $(ga-config --cppflags) $(pkg-config --cflags --libs mpix-rma) \
 *              $(pkg-config --variable=drop_in armci) $(ga-config --ldflags --libs --flibs) -o ga_checkpoint
 * Run, with MPIX_NAM_ALLOCATION set (docs/nam.md):
 *   mpirun -np 2 ./ga_checkpoint plate 100 40     ends in the middle of its fourth checkpoint
 *   mpirun -np 1 ./ga_checkpoint plate 100        goes on from the third one
 */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    n = 64,
    interval = 10
};

/* ---- The window: each creating rank has a word, and its share of the rows in two copies. ---- */

typedef struct {
    MPI_Win win;
    int rows; /* of a rank */
} checkpoint;

static int find(const char *name, checkpoint *found)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Aint *sizes;
    int flag;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int known = MPI_Lookup_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (!known) {
        return 0;
    }
    MPIX_Win_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &found->win);
    MPI_Win_get_attr(found->win, MPIX_WIN_SIZES, &sizes, &flag);
    found->rows = (int) ((sizes[0] / (MPI_Aint) sizeof(double) - 1) / (2 * n));
    return 1;
}

static void make(const char *name, checkpoint *made)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Info info;
    int flag;
    made->rows = (n + GA_Nnodes() - 1) / GA_Nnodes();
    MPI_Info_create(&info);
    MPI_Info_set(info, "deep_mem_kind", "deep_nam_persistent");
    MPI_Win_allocate((MPI_Aint) sizeof(double) * (1 + 2 * made->rows * n), sizeof(double), info,
                     MPI_COMM_WORLD, NULL, &made->win);
    MPI_Info_free(&info);
    MPI_Win_get_info(made->win, &info);
    MPI_Info_get(info, "deep_win_port_name", sizeof port - 1, port, &flag);
    MPI_Info_free(&info);
    if (GA_Nodeid() == 0) {
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
}

/* The displacement of a row in the copy of this step. */
static MPI_Aint place(const checkpoint *c, long step, int row)
{
    return 1 + ((step / interval) % 2 * c->rows + row % c->rows) * n;
}

/* The number of the saved step; 0: none. */
static long saved_step(const checkpoint *c)
{
    long step = 0;
    MPI_Get(&step, 1, MPI_LONG, 0, 0, 1, MPI_LONG, c->win);
    MPI_Win_flush(0, c->win);
    return step;
}

/* Saves the first `rows` rows; the processes take rows in turn. */
static void save_rows(const checkpoint *c, int array, long step, int rows)
{
    double row[n];
    int ld[1] = {n};
    for (int i = GA_Nodeid(); i < rows; i += GA_Nnodes()) {
        int lo[2] = {i, 0}, hi[2] = {i, n - 1};
        NGA_Get(array, lo, hi, row, ld);
        MPI_Put(row, n, MPI_DOUBLE, i / c->rows, place(c, step, i), n, MPI_DOUBLE, c->win);
        MPI_Win_flush_local(i / c->rows, c->win);
    }
    MPI_Win_flush_all(c->win);
    GA_Sync();
}

static void save(const checkpoint *c, int array, long step)
{
    save_rows(c, array, step, n);
    if (GA_Nodeid() == 0) {
        MPIX_Win_persist(c->win);
        MPI_Put(&step, 1, MPI_LONG, 0, 0, 1, MPI_LONG, c->win);
        MPI_Win_flush(0, c->win);
        MPIX_Win_persist(c->win);
    }
    GA_Sync();
}

static void restore(const checkpoint *c, int array, long step)
{
    double row[n];
    int ld[1] = {n};
    for (int i = GA_Nodeid(); i < n; i += GA_Nnodes()) {
        int lo[2] = {i, 0}, hi[2] = {i, n - 1};
        MPI_Get(row, n, MPI_DOUBLE, i / c->rows, place(c, step, i), n, MPI_DOUBLE, c->win);
        MPI_Win_flush(i / c->rows, c->win);
        NGA_Put(array, lo, hi, row, ld);
    }
    GA_Sync();
}

/* ---- The computation. ---- */

static double at_start(int i, int j)
{
    return i == 0 || j == 0 ? 100 : i + j == n ? 50 : 0;
}

static double step_of(double above, double below, double left, double right)
{
    return 0.25 * (above + below + left + right);
}

static void begin(int array)
{
    double row[n];
    int ld[1] = {n};
    for (int i = GA_Nodeid(); i < n; i += GA_Nnodes()) {
        int lo[2] = {i, 0}, hi[2] = {i, n - 1};
        for (int j = 0; j < n; ++j) {
            row[j] = at_start(i, j);
        }
        NGA_Put(array, lo, hi, row, ld);
    }
    GA_Sync();
}

/* The edges of the plate keep their values. */
static void compute(int now, int next)
{
    double from[3][n], to[n];
    int ld[1] = {n};
    for (int i = GA_Nodeid(); i < n; i += GA_Nnodes()) {
        const int edge = i == 0 || i == n - 1;
        int lo[2] = {edge ? i : i - 1, 0}, hi[2] = {edge ? i : i + 1, n - 1};
        NGA_Get(now, lo, hi, from, ld);
        for (int j = 0; j < n; ++j) {
            to[j] = edge                   ? from[0][j]
                    : j == 0 || j == n - 1 ? from[1][j]
                                           : step_of(from[0][j], from[2][j], from[1][j - 1], from[1][j + 1]);
        }
        lo[0] = hi[0] = i;
        NGA_Put(next, lo, hi, to, ld);
    }
    GA_Sync();
}

/* Returns the number of elements that differ from a serial computation. */
static int check(int array, long steps)
{
    static double plates[2][n][n];
    static double found[n][n];
    int lo[2] = {0, 0}, hi[2] = {n - 1, n - 1}, ld[1] = {n}, wrong = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            plates[0][i][j] = plates[1][i][j] = at_start(i, j);
        }
    }
    for (long step = 0; step < steps; ++step) {
        double(*now)[n] = plates[step % 2], (*next)[n] = plates[(step + 1) % 2];
        for (int i = 1; i < n - 1; ++i) {
            for (int j = 1; j < n - 1; ++j) {
                next[i][j] = step_of(now[i - 1][j], now[i + 1][j], now[i][j - 1], now[i][j + 1]);
            }
        }
    }
    NGA_Get(array, lo, hi, found, ld);
    for (int i = 0; i < n * n; ++i) {
        wrong += found[i / n][i % n] != plates[steps % 2][i / n][i % n];
    }
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 1000000, 1000000);
    const char *name = argc > 1 ? argv[1] : "ga_checkpoint";
    const long steps = argc > 2 ? atol(argv[2]) : 100;
    const long end = argc > 3 ? atol(argv[3]) : -1;
    int dims[2] = {n, n};
    int arrays[2] = {NGA_Create(C_DBL, 2, dims, "even", NULL), NGA_Create(C_DBL, 2, dims, "odd", NULL)};
    checkpoint c;
    const int found = find(name, &c);
    if (!found) {
        make(name, &c);
    }
    MPI_Win_lock_all(0, c.win);
    const long first = found ? saved_step(&c) : 0;
    if (first > steps) {
        if (GA_Nodeid() == 0) {
            fprintf(stderr, "%s: the checkpoint is of step %ld, after the last step %ld\n", name, first, steps);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        GA_Sync(); /* until the job has ended */
    }
    if (first != 0) {
        restore(&c, arrays[first % 2], first);
    } else {
        begin(arrays[0]);
    }
    for (long step = first + 1; step <= steps; ++step) {
        compute(arrays[(step - 1) % 2], arrays[step % 2]);
        if (step == end) {
            save_rows(&c, arrays[step % 2], step, n / 2);
            if (GA_Nodeid() == 0) {
                printf("Ends in the middle of the checkpoint of step %ld\n", step);
                fflush(stdout);
            }
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        if (step % interval == 0) {
            save(&c, arrays[step % 2], step);
        }
    }
    MPI_Win_unlock_all(c.win);
    int wrong = GA_Nodeid() == 0 ? check(arrays[steps % 2], steps) : 0;
    GA_Igop(&wrong, 1, "+");
    if (GA_Nodeid() == 0) {
        printf("Global Arrays: steps %ld to %ld on %d processes: %s\n", first + 1, steps, GA_Nnodes(),
               wrong == 0 ? "result correct" : "RESULT WRONG");
    }
    MPI_Win_free(&c.win);
    GA_Destroy(arrays[0]);
    GA_Destroy(arrays[1]);
    GA_Terminate();
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
