/* Reads MPI objects through Open MPI's internal headers. */
#include "osc_mpix.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/proc/proc.h"

int ompi_osc_mpix_process_of_rank(mpix_handle_t communicator, int rank, uint64_t *process)
{
    ompi_communicator_t *comm = (ompi_communicator_t *) communicator;
    /* The remote group of an intracommunicator is its own group. */
    if (rank < 0 || rank >= ompi_group_size(comm->c_remote_group)) {
        return -1;
    }
    ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    if (NULL == proc) {
        return -1;
    }
    *process = ompi_osc_mpix_pack_name(proc->super.proc_name);
    return 0;
}

/* A flag of this component alone: with its own flags, Open MPI would reject the calls that an error handler
 * makes on the communicator. A new communicator does not have the flag. */
#define FREED_BY_APPLICATION 0x40000000u

/* The pointer may dangle, so it is compared with the live communicators before it is dereferenced. */
static int is_known(const ompi_communicator_t *comm)
{
    if (NULL == comm || MPI_COMM_NULL == comm) {
        return 0;
    }
    const int size = opal_pointer_array_get_size(&ompi_mpi_communicators);
    for (int i = 0; i < size; ++i) {
        if (comm == opal_pointer_array_get_item(&ompi_mpi_communicators, i)) {
            return 1;
        }
    }
    return 0;
}

int ompi_osc_mpix_communicator_is_live(mpix_handle_t communicator)
{
    ompi_communicator_t *comm = (ompi_communicator_t *) communicator;
    return is_known(comm) && !ompi_comm_invalid(comm) && 0 == (comm->c_flags & FREED_BY_APPLICATION);
}

void ompi_osc_mpix_communicator_set_freed(mpix_handle_t communicator, int freed)
{
    ompi_communicator_t *comm = (ompi_communicator_t *) communicator;
    if (!is_known(comm)) {
        return;
    }
    if (freed) {
        comm->c_flags |= FREED_BY_APPLICATION;
    } else {
        comm->c_flags &= ~FREED_BY_APPLICATION;
    }
}

/* Open MPI checks this flag before each call on a communicator. */
void ompi_osc_mpix_communicator_refuse_calls(mpix_handle_t communicator, int refuse)
{
    ompi_communicator_t *comm = (ompi_communicator_t *) communicator;
    if (refuse) {
        comm->c_flags |= OMPI_COMM_INVALID;
    } else {
        comm->c_flags &= ~(uint32_t) OMPI_COMM_INVALID;
    }
}

int ompi_osc_mpix_datatype_is_committed(mpix_handle_t datatype)
{
    const ompi_datatype_t *type = (const ompi_datatype_t *) datatype;
    return opal_datatype_is_committed(&type->super) || opal_datatype_is_predefined(&type->super);
}
