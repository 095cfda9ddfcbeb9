/// Statistics and version. Included by mpix_rma.hpp.
#pragma once

#include <compare>

#include "completion.hpp"
#include "error.hpp"

namespace mpix
{

/// The protocols by which an operation reaches its target.
enum class protocol : int {
    direct = MPIX_RMA_PROTOCOL_DIRECT,             ///< loads and stores to mapped memory of the same host
    cross_memory = MPIX_RMA_PROTOCOL_CROSS_MEMORY, ///< process_vm_readv and process_vm_writev
    network = MPIX_RMA_PROTOCOL_NETWORK,           ///< UCX put and get
    ring = MPIX_RMA_PROTOCOL_RING,                 ///< requests in shared memory to a process that polls
    message = MPIX_RMA_PROTOCOL_MESSAGE,           ///< messages that the target's CPU executes
    all = MPIX_RMA_PROTOCOL_ALL                    ///< the sum over all of them
};

/// The counters of statistics.
enum class statistic : int {
    operations = MPIX_RMA_STATISTIC_OPERATIONS,               ///< operations, of one protocol or all
    bytes = MPIX_RMA_STATISTIC_BYTES,                         ///< bytes of their data at the target
    messages_sent = MPIX_RMA_STATISTIC_MESSAGES_SENT,         ///< requests to the rank
    messages_executed = MPIX_RMA_STATISTIC_MESSAGES_EXECUTED, ///< requests from the rank, executed here
    counted = MPIX_RMA_STATISTIC_COUNTED                      ///< 1 if operations of the protocol are counted
};

/// Returns a counter of this process's communication with `rank`, or all_ranks. Local. MPIX_RMA_Statistics.
template <error_policy Errors = exceptions>
outcome<Errors, MPI_Count> statistics(MPI_Comm comm, int rank, statistic which, protocol way = protocol::all)
{
    MPI_Count value = 0;
    int const code = MPIX_RMA_Statistics(comm, rank, static_cast<MPIX_RMA_Statistic>(which),
                                         static_cast<MPIX_RMA_Protocol>(way), &value);
    return detail::finish<Errors>(code, std::move(value));
}

/// A version of the interface.
struct version {
    int major_number; ///< MPIX_RMA_VERSION
    int minor_number; ///< MPIX_RMA_SUBVERSION
    friend constexpr auto operator<=>(version const &, version const &) noexcept = default;
};

/// The version of these headers.
inline constexpr version header_version{MPIX_RMA_VERSION, MPIX_RMA_SUBVERSION};

/// Returns the version of the library. Local; also before MPI_Init and after MPI_Finalize.
inline version library_version() noexcept
{
    version found{};
    MPIX_RMA_Get_version(&found.major_number, &found.minor_number);
    return found;
}

} // namespace mpix
