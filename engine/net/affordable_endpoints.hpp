/// How many connections the process has file descriptors for.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

/// A connection between hosts takes a descriptor: half of those that the limit of the process leaves beside
/// the ones that are open now, one at least. SIZE_MAX where there is no limit.
std::size_t affordable_endpoints() noexcept;

}  // namespace mpixrma::engine
