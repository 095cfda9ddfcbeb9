/* The program around the snippets of docs/semantics.md: each rank puts parts to the next rank and notifies that rank.
 * The parts are large in some rounds and small in the others, in allocated memory and in static memory. A third form
 * has ORDERING on every PUT in the place of the Fence. */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdlib.h>

enum { parts = 6, most = 20000, rounds = 40 };

static double data[parts][most];
static double unregistered[parts][most];

/* Whether each part of both memories has the value everywhere. */
static int all_are(double value, const double *allocated, int n)
{
    for (int i = 0; i < parts; ++i)
        for (int k = 0; k < n; ++k)
            if ((i % 2 == 0 ? allocated + i * most : unregistered[i])[k] != value) return 0;
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int self, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int target = (self + 1) % size;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPIX_RMA_Set_num_notify(comm, 1);
    void **bases = malloc(2 * sizeof *bases * (size_t) size);
    void **others = bases + size;
    MPIX_RMA_Allocate(sizeof data, MPI_INFO_NULL, comm, NULL, bases);
    void *mine = unregistered;
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, others, sizeof mine, MPI_BYTE, comm);
    double *place[parts];
    for (int i = 0; i < parts; ++i) place[i] = (double *) (i % 2 == 0 ? bases : others)[target] + i * most;

    int right = 1;
    for (int round = 1; round <= rounds; ++round) {
        const int n = round % 4 == 0 ? most : 3;
        MPI_Request request;
        for (int form = 0; form < 3; ++form) {
            const double value = 3 * round + form;
            for (int i = 0; i < parts; ++i)
                for (int k = 0; k < n; ++k) data[i][k] = value;
            MPIX_RMA_Reset_notify_value(comm, 0, NULL);
            MPI_Barrier(comm);
            if (form == 0) {
                /* snippet 1 */
            } else if (form == 1) {
                /* snippet 2 */
            } else {
                MPIX_RMA_Attributes ordered = {.set = MPIX_RMA_ATTR_ORDERING};
                for (int i = 0; i < parts; ++i) {
                    if (i == parts - 1) ordered.set |= MPIX_RMA_ATTR_NOTIFY; /* counter 0 */
                    MPIX_RMA_xfer(MPIX_RMA_PUT, data[i], n, MPI_DOUBLE, target, place[i], n, MPI_DOUBLE, NULL, &comm,
                                  &ordered);
                }
                MPIX_RMA_Wait_notify_value(comm, 0, 1, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            right = right && all_are(value, bases[self], n);
            MPIX_RMA_Complete(&comm, target);
            MPI_Barrier(comm);
        }
    }
    MPIX_RMA_Free(bases[self], comm);
    MPI_Comm_free(&comm);
    free(bases);
    MPI_Finalize();
    return right ? 0 : 1;
}
