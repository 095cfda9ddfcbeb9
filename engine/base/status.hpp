/// Status of an engine call, converted to MPI error classes only in mpix/ and mpi-windows/.
#pragma once

#include <cstdint>

namespace mpixrma::engine {

enum class [[nodiscard]] Status : std::uint8_t{
    ok = 0,
    bad_address,    ///< the target memory is not mapped, was freed, or cannot be read
    bad_origin,     ///< no readable (for a get: writable) memory at the origin address
    device_memory,  ///< memory of this process is device memory, which the CPU cannot access
    bad_argument,   ///< a field of the operation is out of range or inconsistent
    unsupported,    ///< operation, element type or protocol not available
    out_of_memory,
    no_descriptors,  ///< the limit of open files of the process or the system is reached
    unreachable,     ///< the peer's address is unknown, or no transport reaches it
    transport,       ///< the transport reported a failure
    malformed,       ///< a message from the network did not pass validation
    busy,            ///< the lock is held, and the request does not wait
    out_of_bounds,   ///< the memory does not lie within the exposure
    access_denied,   ///< the exposure does not permit the operation
    stale_exposure,  ///< the exposure does not exist: never created, or withdrawn
    overrun,         ///< the target memory begins in a segment and ends beyond it: see
                     ///< EnginePeerMemory::find_segment
    not_writable,    ///< the target memory is read-only
    count_           ///< number of status codes
};

/// Returns a static, human-readable text without a trailing period.
char const* to_string(Status status) noexcept;

constexpr bool failed(Status status) noexcept { return status != Status::ok; }

}  // namespace mpixrma::engine
