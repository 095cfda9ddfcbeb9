/*
 * 2. Requests that overlap communication and computation. A line of cells is divided among the ranks. In each
 * step a rank gets its neighbours' edge cells, computes its interior meanwhile, and its own edges when the
 * requests are complete.
 *
 * Without the waits it breaks because a get's buffer has the data only when the operation is complete. To see
 * it break: mpirun -np 4 --mca osc_mpix_path message ./overlap --without
 */
#include "course.h"

enum {
    cells = 1000,
    steps = 100
};

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **bases = course_allocate(2 * cells * sizeof(double)); /* the old and the new values */
    double *now = bases[rank];
    for (int i = 0; i < cells; ++i) {
        now[i] = rank * cells + i;
    }
    MPI_Barrier(world);
    for (int step = 0; step < steps; ++step) {
        const size_t old = (size_t) (step % 2) * cells;
        const double *from = (double *) bases[rank] + old;
        double *to = (double *) bases[rank] + (cells - old);
        double left = 0, right = 0;
        MPI_Request edges[2];
        MPIX_RMA_xfer(MPIX_RMA_GET, &left, 1, MPI_DOUBLE, previous,
                      (double *) bases[previous] + old + cells - 1, 1, MPI_DOUBLE, &edges[0], &world, NULL);
        MPIX_RMA_xfer(MPIX_RMA_GET, &right, 1, MPI_DOUBLE, next, (double *) bases[next] + old, 1, MPI_DOUBLE,
                      &edges[1], &world, NULL);
        for (int i = 1; i < cells - 1; ++i) {
            to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
        }
        if (!without) {
            MPI_Waitall(2, edges, MPI_STATUSES_IGNORE);
        }
        to[0] = (left + from[0] + from[1]) / 3;
        to[cells - 1] = (from[cells - 2] + from[cells - 1] + right) / 3;
        if (without) {
            MPI_Waitall(2, edges, MPI_STATUSES_IGNORE);
        }
        MPI_Barrier(world);
    }
    /* The average of neighbours keeps the sum of all cells. */
    double sum = 0;
    now = (double *) bases[rank] + (size_t) (steps % 2) * cells;
    for (int i = 0; i < cells; ++i) {
        sum += now[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
    const double total = (double) size * cells, expected = total * (total - 1) / 2;
    const long wrong = sum < expected * (1 - 1e-9) || sum > expected * (1 + 1e-9);
    course_free(bases);
    return course_end("overlap", wrong);
}
