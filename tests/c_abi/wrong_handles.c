/* Case 0 compiles. Each of the others passes a handle of another kind, and does not. */
#include <mpi.h>
#include <mpix_rma.h>

#if WRONG_HANDLE == 0
#define COMM_ADDRESS &comm
#define COMM comm
#elif WRONG_HANDLE == 1 /* a communicator for its address */
#define COMM_ADDRESS comm
#define COMM comm
#elif WRONG_HANDLE == 2 /* the address of a window for that of a communicator */
#define COMM_ADDRESS &win
#define COMM comm
#elif WRONG_HANDLE == 3 /* the address of a request */
#define COMM_ADDRESS &request
#define COMM comm
#elif WRONG_HANDLE == 4 /* an address for a communicator */
#define COMM_ADDRESS &comm
#define COMM &comm
#elif WRONG_HANDLE == 5 /* a window for a communicator */
#define COMM_ADDRESS &comm
#define COMM win
#endif

#if CALL == 0
#define MAKE_CALL MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_INT, 0, &value, 1, MPI_INT, &request, COMM_ADDRESS, NULL)
#elif CALL == 1
#define MAKE_CALL MPIX_RMA_rmw(MPIX_RMW_SUM, &value, 1, MPI_INT, NULL, 0, 0, &request, COMM_ADDRESS, NULL)
#elif CALL == 2
#define MAKE_CALL MPIX_RMA_Complete(COMM_ADDRESS, 0)
#elif CALL == 3
#define MAKE_CALL MPIX_RMA_Fence(COMM_ADDRESS, 0)
#elif CALL == 4
#define MAKE_CALL MPIX_RMA_Complete_local(COMM_ADDRESS, 0)
#elif CALL == 5
#define MAKE_CALL MPIX_RMA_Icomplete(COMM_ADDRESS, 0, &request)
#elif CALL == 6
#define MAKE_CALL MPIX_RMA_Set_num_notify(COMM, 1)
#elif CALL == 7
#define MAKE_CALL MPIX_RMA_Free(NULL, COMM)
#endif

int call(MPI_Comm comm, MPI_Win win, MPI_Request request, int value);
int call(MPI_Comm comm, MPI_Win win, MPI_Request request, int value)
{
    (void) comm, (void) win, (void) request, (void) value;
    return MAKE_CALL;
}
