/// Notification: counters that operations with attributes::notify increment at their targets. Included by
/// mpix_rma.hpp.
#pragma once

#include "error.hpp"
#include "request.hpp"

namespace mpix
{

/// Allocates this process's counters on a communicator, all zero, and frees the previous counters.
/// Collective; the communicator's operations must be complete. MPIX_RMA_Set_num_notify.
///
/// @param count  counters of this process, at most 2^27; may differ between processes
template <error_policy Errors = exceptions>
outcome<Errors> set_num_notify(MPI_Comm comm, int count)
{
    return detail::finish<Errors>(MPIX_RMA_Set_num_notify(comm, count));
}

/// Returns the number of counters that this process has on a communicator. Local.
template <error_policy Errors = exceptions>
outcome<Errors, int> get_num_notify(MPI_Comm comm)
{
    int count = 0;
    int const code = MPIX_RMA_Get_num_notify(comm, &count);
    return detail::finish<Errors>(code, std::move(count));
}

/// Returns the value of a counter of this process. The data of the counted operations is visible afterwards.
/// Local.
template <error_policy Errors = exceptions>
outcome<Errors, MPI_Count> get_notify_value(MPI_Comm comm, int index)
{
    MPI_Count value = 0;
    int const code = MPIX_RMA_Get_notify_value(comm, index, &value);
    return detail::finish<Errors>(code, std::move(value));
}

/// Sets a counter of this process to zero atomically, and returns its previous value. Local.
template <error_policy Errors = exceptions>
outcome<Errors, MPI_Count> reset_notify_value(MPI_Comm comm, int index)
{
    MPI_Count value = 0;
    int const code = MPIX_RMA_Reset_notify_value(comm, index, &value);
    return detail::finish<Errors>(code, std::move(value));
}

/// Returns a request that completes when a counter of this process is at `threshold` or beyond. Does not
/// change the counter. Local. The request's destructor does not wait: it frees the request.
template <error_policy Errors = exceptions>
outcome<Errors, request> wait_notify_value(MPI_Comm comm, int index, MPI_Count threshold)
{
    MPI_Request native = MPI_REQUEST_NULL;
    int const code = MPIX_RMA_Wait_notify_value(comm, index, threshold, &native);
    return detail::finish<Errors>(code, request(native, request::at_end::free));
}

} // namespace mpix
