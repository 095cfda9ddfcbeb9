/// Connections that UCX accepts in this process. UCX takes every connection to its port and closes none that
/// says nothing, and where the process has no descriptor left it stops listening for good. So this process
/// has an accept() of its own, which UCX's library calls: it closes connections beyond a bound at once, and
/// those that have sent nothing can be ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mpixrma::nam {

/// UCX may have this many from here on, and half of them from one host. Without this call there is no bound.
void bound_accepted_connections(std::size_t most) noexcept;

/// Ends connections that have sent nothing since they were accepted, this long ago.
void end_silent_connections(std::chrono::milliseconds silence) noexcept;

/// How many were closed at once since the last call.
std::uint64_t take_refused_connections() noexcept;

}  // namespace mpixrma::nam
