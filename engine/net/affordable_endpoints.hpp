/// The number of connections that the process has file descriptors for.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

/// A connection between hosts needs a descriptor. Returns half of the process's unused descriptors, but at
/// least 1; SIZE_MAX without a limit.
std::size_t affordable_endpoints() noexcept;

}  // namespace mpixrma::engine
