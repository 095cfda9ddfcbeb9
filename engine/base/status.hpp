/// Outcome of an engine call. Mapped to MPI error classes in mpix/ and nowhere else.
#pragma once

#include <cstdint>

namespace mpixrma::engine {

enum class [[nodiscard]] Status : std::uint8_t{
    ok = 0,
    bad_address,    ///< the target memory is not mapped, was freed, or cannot be read
    bad_origin,     ///< no readable (a get: writable) memory stands at the origin address
    device_memory,  ///< memory of this process is a device's, and the processor cannot touch it
    bad_argument,   ///< a field of the operation is out of range or inconsistent
    unsupported,    ///< operation, element type or path not available
    out_of_memory,
    no_descriptors,  ///< the limit of open files of the process or the system is reached
    unreachable,     ///< no address of the peer is known, or no transport leads to it
    transport,       ///< the transport reported a failure
    malformed,       ///< a wire message did not pass its checks
    busy,            ///< the lock is held, and whoever tries it does not wait
    out_of_bounds,   ///< the memory does not lie within the exposure that names it
    access_denied,   ///< the exposure does not permit what the operation does
    stale_exposure,  ///< no such exposure: never made, or withdrawn
    overrun,         ///< the target memory begins in a segment and ends behind it: see Engine::find_segment
    not_writable,    ///< the target memory can be read, and not written
    count_           ///< none: how many there are
};

/// Static, human readable text without a trailing period.
char const* to_string(Status status) noexcept;

constexpr bool failed(Status status) noexcept { return status != Status::ok; }

}  // namespace mpixrma::engine
