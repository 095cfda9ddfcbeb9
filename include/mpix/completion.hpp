/// Completion and order. Included by mpix_rma.hpp.
#pragma once

#include "error.hpp"
#include "request.hpp"

namespace mpix
{

/// All ranks of a communicator, for complete, fence and statistics.
inline constexpr int all_ranks = MPIX_ALL_RANKS;

/// Waits until every operation that this process issued before through `comm` to `rank` is complete at the
/// target. Fails with the error of an operation that no request has reported. MPIX_RMA_Complete.
template <error_policy Errors = exceptions>
outcome<Errors> complete(MPI_Comm const &comm, int rank = all_ranks)
{
    return detail::finish<Errors>(MPIX_RMA_Complete(const_cast<MPI_Comm *>(&comm), rank));
}

/// Waits until the buffers of every operation issued before to `rank` may be reused. MPIX_RMA_Complete_local.
template <error_policy Errors = exceptions>
outcome<Errors> complete_local(MPI_Comm const &comm, int rank = all_ranks)
{
    return detail::finish<Errors>(MPIX_RMA_Complete_local(const_cast<MPI_Comm *>(&comm), rank));
}

/// Begins complete, and returns a request for it. MPIX_RMA_Icomplete.
template <error_policy Errors = exceptions>
outcome<Errors, request> icomplete(MPI_Comm const &comm, int rank = all_ranks)
{
    MPI_Request native = MPI_REQUEST_NULL;
    int const code = MPIX_RMA_Icomplete(const_cast<MPI_Comm *>(&comm), rank, &native);
    return detail::finish<Errors>(code, request(native));
}

/// Begins complete_local, and returns a request for it. MPIX_RMA_Icomplete_local.
template <error_policy Errors = exceptions>
outcome<Errors, request> icomplete_local(MPI_Comm const &comm, int rank = all_ranks)
{
    MPI_Request native = MPI_REQUEST_NULL;
    int const code = MPIX_RMA_Icomplete_local(const_cast<MPI_Comm *>(&comm), rank, &native);
    return detail::finish<Errors>(code, request(native));
}

/// Orders every earlier operation to `rank` before every later one; does not wait. MPIX_RMA_Fence.
template <error_policy Errors = exceptions>
outcome<Errors> fence(MPI_Comm const &comm, int rank = all_ranks)
{
    return detail::finish<Errors>(MPIX_RMA_Fence(const_cast<MPI_Comm *>(&comm), rank));
}

} // namespace mpix
