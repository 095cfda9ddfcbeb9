/*
 * 6. The three places of attributes: on a call, on a request object, and on a communicator. The attributes of
 * all three are merged; if two give a value, the call takes precedence over the object, and the object over
 * the communicator.
 *
 * Without the attribute on the communicator it breaks because an accumulate adds unless another operation is
 * chosen. To see it break: mpirun -np 2 ./attributes --without
 */
#include "course.h"

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **bases = course_allocate(3 * sizeof(long));
    long *mine = bases[rank];
    mine[0] = mine[1] = mine[2] = 10;
    MPI_Barrier(world);
    long *there = bases[next];
    long value = 5;

    /* On the communicator: MPI_MAX for every accumulate through it. MPI_Comm_dup copies the attribute. */
    if (!without) {
        MPI_Comm_set_attr(world, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_MAX));
    }
    MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_LONG, next, &there[0], 1, MPI_LONG, NULL, &world, NULL);

    /* On a request object, which is used again and again: MPI_MIN, and complete means at the target. */
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Req_set_attr(&request, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_MIN));
    MPIX_Req_set_attr(&request, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON);
    for (int i = 0; i < 3; ++i) {
        MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &value, 1, MPI_LONG, next, &there[1], 1, MPI_LONG, &request,
                          &world);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);

    /* On the call: a sum of 3 * value, complete at the target on return. */
    const long scale = 3;
    const MPIX_RMA_Attributes chosen = {.set = MPIX_RMA_ATTR_ACCUMULATE_OP | MPIX_RMA_ATTR_ACCUMULATE_SCALE |
                                               MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION,
                                        .accumulate_op = MPI_SUM,
                                        .accumulate_scale = &scale};
    MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_LONG, next, &there[2], 1, MPI_LONG, NULL, &world,
                  &chosen);

    MPIX_RMA_Complete(&world, next);
    MPI_Barrier(world);
    const long wrong = (mine[0] != 10) + (mine[1] != 5) + (mine[2] != 25);
    course_free(bases);
    return course_end("attributes", wrong);
}
