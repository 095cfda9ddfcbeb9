/*
 * Halo exchange: Jacobi iteration on a two-dimensional grid.
 *
 * The grid is split among processes in both directions. Each holds its part with a border of one cell. In
 * every step it puts its edge cells into the borders of its neighbours: rows are contiguous, columns a
 * derived datatype. The neighbour's memory is named by its address; there is no window. Complete and a
 * barrier end the exchange.
 *
 * Run: mpirun -np 4 ./halo_exchange
 */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    n = 64,
    steps = 40
}; /* n: interior cells per process and direction */
enum {
    stride = n + 2,
    cells = stride * stride
};

static double initial(int row, int column)
{
    return (row * 37 + column * 11) % 101;
}

static double at_or_zero(const double *grid, int rows, int columns, int i, int j)
{
    return i < 0 || j < 0 || i >= rows || j >= columns ? 0.0 : grid[i * columns + j];
}

/* The same iteration on the whole grid, by one process. */
static double *reference(int rows, int columns)
{
    double *now = malloc(sizeof(double) * (size_t) (rows * columns));
    double *next = malloc(sizeof(double) * (size_t) (rows * columns));
    for (int i = 0; i < rows * columns; ++i) {
        now[i] = initial(i / columns, i % columns);
    }
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) {
                next[i * columns + j] =
                    0.25 *
                    (at_or_zero(now, rows, columns, i - 1, j) + at_or_zero(now, rows, columns, i + 1, j) +
                     at_or_zero(now, rows, columns, i, j - 1) + at_or_zero(now, rows, columns, i, j + 1));
            }
        }
        double *swap = now;
        now = next;
        next = swap;
    }
    free(next);
    return now;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int size, dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2], rank;
    MPI_Comm grid;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coords);
    int up, down, left, right;
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);

    MPI_Datatype column;
    MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);

    /* Two grids per process, for the old and the new values. */
    double **bases = malloc(sizeof(double *) * (size_t) size);
    MPIX_RMA_Allocate(2 * cells * (MPI_Aint) sizeof(double), MPI_INFO_NULL, grid, NULL, (void **) bases);
    double *mine = bases[rank];
    memset(mine, 0, 2 * cells * sizeof(double));
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            mine[(i + 1) * stride + j + 1] = initial(coords[0] * n + i, coords[1] * n + j);
        }
    }
    MPI_Barrier(grid);

    for (int step = 0; step < steps; ++step) {
        int old = step % 2 * cells, new = cells - old;
        double *now = mine + old, *next = mine + new;
        /* A rank of MPI_PROC_NULL beyond the edge makes the call do nothing. */
#define BORDER(neighbour, cell) (neighbour == MPI_PROC_NULL ? NULL : bases[neighbour] + old + (cell))
        MPIX_RMA_xfer(MPIX_RMA_PUT, now + stride + 1, n, MPI_DOUBLE, up, BORDER(up, (n + 1) * stride + 1), n,
                      MPI_DOUBLE, NULL, &grid, NULL);
        MPIX_RMA_xfer(MPIX_RMA_PUT, now + n * stride + 1, n, MPI_DOUBLE, down, BORDER(down, 1), n, MPI_DOUBLE,
                      NULL, &grid, NULL);
        MPIX_RMA_xfer(MPIX_RMA_PUT, now + stride + 1, 1, column, left, BORDER(left, stride + n + 1), 1,
                      column, NULL, &grid, NULL);
        MPIX_RMA_xfer(MPIX_RMA_PUT, now + stride + n, 1, column, right, BORDER(right, stride), 1, column,
                      NULL, &grid, NULL);
        MPIX_RMA_Complete(&grid, MPIX_ALL_RANKS);
        MPI_Barrier(grid);
        for (int i = 1; i <= n; ++i) {
            for (int j = 1; j <= n; ++j) {
                next[i * stride + j] = 0.25 * (now[(i - 1) * stride + j] + now[(i + 1) * stride + j] +
                                               now[i * stride + j - 1] + now[i * stride + j + 1]);
            }
        }
        MPI_Barrier(grid);
    }

    int rows = dims[0] * n, columns = dims[1] * n, wrong = 0;
    double *expected = reference(rows, columns);
    const double *result = mine + steps % 2 * cells;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            if (result[(i + 1) * stride + j + 1] !=
                expected[(coords[0] * n + i) * columns + coords[1] * n + j]) {
                ++wrong;
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, grid);
    if (rank == 0) {
        printf("%d x %d grid on %d x %d processes, %d steps: %s\n", rows, columns, dims[0], dims[1], steps,
               wrong == 0 ? "result correct" : "RESULT WRONG");
    }
    free(expected);
    MPIX_RMA_Free(mine, grid);
    free(bases);
    MPI_Type_free(&column);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
