/*
 * 9. Halo exchange without a barrier. A line of cells is divided among the ranks. In each step a rank puts
 * its edge cells to its neighbours with NOTIFY, and waits until its own counters show that theirs have
 * arrived. Each side has a counter, because a neighbour that is a step ahead would count for the other one.
 *
 * Without NOTIFY it breaks because the target does not know that the cells have arrived: that would take a
 * message, or a barrier. To see it break: mpirun -np 4 ./halo_by_notification --without
 */
#include "course.h"

enum {
    cells = 1000,
    steps = 200,
    border = 2
}; /* border: halo cells of one step; even and odd steps have separate ones */

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **bases = course_allocate(2 * border * sizeof(double));
    double *halo = bases[rank]; /* [step % 2][0: from the left, 1: from the right] */
    MPIX_RMA_Set_num_notify(world, 2);
    double *now = malloc(cells * sizeof(double)), *then = malloc(cells * sizeof(double));
    for (int i = 0; i < cells; ++i) {
        now[i] = rank * cells + i;
    }
    const MPIX_RMA_Attributes from_left = {.set = without ? 0 : MPIX_RMA_ATTR_NOTIFY, .notify_index = 0};
    const MPIX_RMA_Attributes from_right = {.set = without ? 0 : MPIX_RMA_ATTR_NOTIFY, .notify_index = 1};
    for (int step = 0; step < steps; ++step) {
        const int at = step % 2 * border;
        MPIX_RMA_xfer(MPIX_RMA_PUT, &now[0], 1, MPI_DOUBLE, previous, (double *) bases[previous] + at + 1, 1,
                      MPI_DOUBLE, NULL, &world, &from_right);
        MPIX_RMA_xfer(MPIX_RMA_PUT, &now[cells - 1], 1, MPI_DOUBLE, next, (double *) bases[next] + at, 1,
                      MPI_DOUBLE, NULL, &world, &from_left);
        for (int i = 1; i < cells - 1; ++i) {
            then[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
        }
        /* One from each side in every step. A neighbour is never two steps ahead: it waits for this rank's
         * cells. */
        for (int side = 0; side < 2 && !without; ++side) {
            MPI_Request there;
            MPIX_RMA_Wait_notify_value(world, side, step + 1, &there);
            MPI_Wait(&there, MPI_STATUS_IGNORE);
        }
        then[0] = (halo[at] + now[0] + now[1]) / 3;
        then[cells - 1] = (now[cells - 2] + now[cells - 1] + halo[at + 1]) / 3;
        MPIX_RMA_Complete(&world, MPIX_ALL_RANKS); /* before the cells change */
        double *swap = now;
        now = then;
        then = swap;
    }
    double sum = 0; /* averaging the neighbours does not change the sum */
    for (int i = 0; i < cells; ++i) {
        sum += now[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
    const double total = (double) size * cells, expected = total * (total - 1) / 2;
    const long wrong = sum < expected * (1 - 1e-9) || sum > expected * (1 + 1e-9);
    free(now);
    free(then);
    course_free(bases);
    return course_end("halo_by_notification", wrong);
}
