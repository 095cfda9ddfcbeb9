/*
 * 7. Errors. By default an error ends the job with a line that names the call and the cause. With
 * MPI_ERRORS_RETURN a program gets a code: its class tells what kind of error it is, and its text the
 * details. A wrong argument is an error of the call. A failure at the target is an error of the call, of the
 * request, or of Complete, depending on when the protocol detects it.
 *
 * Without MPI_ERRORS_RETURN the job ends at the first error: mpirun -np 2 ./errors --without
 */
#include "course.h"

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
        if (rank == 0) {
            printf("  %s\n", text);
        }
    }
    return class;
}

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **bases = course_allocate(100);
    if (!without) {
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    }
    int address_class = MPI_SUCCESS;
    MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
    char bytes[200] = {0};
    long wrong = 0;

    /* No such rank: nothing is transferred. */
    int code =
        MPIX_RMA_xfer(MPIX_RMA_PUT, bytes, 8, MPI_BYTE, size, bases[next], 8, MPI_BYTE, NULL, &world, NULL);
    wrong += class_of(code) != MPI_ERR_RANK;

    /* The two sides have different numbers of bytes. */
    code = MPIX_RMA_xfer(MPIX_RMA_PUT, bytes, 8, MPI_BYTE, next, bases[next], 1, MPI_INT, NULL, &world, NULL);
    wrong += class_of(code) != MPI_ERR_TYPE;

    /* No memory at the target's address: reported by the call or by Complete. */
    code =
        MPIX_RMA_xfer(MPIX_RMA_PUT, bytes, 8, MPI_BYTE, next, (void *) 4096, 8, MPI_BYTE, NULL, &world, NULL);
    const int late = MPIX_RMA_Complete(&world, next);
    wrong += class_of(code != MPI_SUCCESS ? code : late) != address_class;

    /* The communicator works as before. */
    wrong += MPIX_RMA_xfer(MPIX_RMA_PUT, bytes, 8, MPI_BYTE, next, bases[next], 8, MPI_BYTE, NULL, &world,
                           NULL) != MPI_SUCCESS;
    wrong += MPIX_RMA_Complete(&world, next) != MPI_SUCCESS;
    course_free(bases);
    return course_end("errors", wrong);
}
