/* Each wrong argument stands in a line of its own, in which the compiler must report an error. */
#include <mpi.h>
#include <mpix_rma.h>

#define XFER(comm) MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_INT, 0, &value, 1, MPI_INT, &request, comm, NULL)
#define RMW(comm) MPIX_RMA_rmw(MPIX_RMW_SUM, &value, 1, MPI_INT, NULL, 0, 0, &request, comm, NULL)

void call(MPI_Comm comm, MPI_Win win, MPI_Request request, int value);
void call(MPI_Comm comm, MPI_Win win, MPI_Request request, int value)
{
    (void) win, (void) value;
    XFER(&comm);
    RMW(&comm);
    MPIX_RMA_Complete(&comm, 0);
    MPIX_RMA_Fence(&comm, 0);
    MPIX_RMA_Complete_local(&comm, 0);
    MPIX_RMA_Icomplete(&comm, 0, &request);
    MPIX_RMA_Set_num_notify(comm, 1);
    MPIX_RMA_Free(NULL, comm);
#ifdef WRONG
    /* a communicator for its address */
    XFER(comm);                            /* wrong */
    RMW(comm);                             /* wrong */
    MPIX_RMA_Complete(comm, 0);            /* wrong */
    MPIX_RMA_Fence(comm, 0);               /* wrong */
    MPIX_RMA_Complete_local(comm, 0);      /* wrong */
    MPIX_RMA_Icomplete(comm, 0, &request); /* wrong */
    /* the address of a window for that of a communicator */
    XFER(&win);                            /* wrong */
    RMW(&win);                             /* wrong */
    MPIX_RMA_Complete(&win, 0);            /* wrong */
    MPIX_RMA_Fence(&win, 0);               /* wrong */
    MPIX_RMA_Complete_local(&win, 0);      /* wrong */
    MPIX_RMA_Icomplete(&win, 0, &request); /* wrong */
    /* the address of a request */
    XFER(&request);                            /* wrong */
    RMW(&request);                             /* wrong */
    MPIX_RMA_Complete(&request, 0);            /* wrong */
    MPIX_RMA_Fence(&request, 0);               /* wrong */
    MPIX_RMA_Complete_local(&request, 0);      /* wrong */
    MPIX_RMA_Icomplete(&request, 0, &request); /* wrong */
    /* an address for a communicator */
    MPIX_RMA_Set_num_notify(&comm, 1); /* wrong */
    MPIX_RMA_Free(NULL, &comm);        /* wrong */
    /* a window for a communicator */
    MPIX_RMA_Set_num_notify(win, 1); /* wrong */
    MPIX_RMA_Free(NULL, win);        /* wrong */
#endif
}
