/// Addresses in other processes.
#pragma once

#include <cstdint>

namespace mpixrma::engine {

/// A virtual address in the target process.
using RemoteAddress = std::uint64_t;

}  // namespace mpixrma::engine
