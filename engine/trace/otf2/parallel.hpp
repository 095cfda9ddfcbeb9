/// A loop whose rounds several threads share.
#pragma once

#include <cstddef>
#include <functional>

#include "engine/base/cores.hpp"

namespace mpixrma::engine {

/// Calls `body` with each number below `count`, in as many threads as there are cores, which run on these.
/// Rethrows the first exception once all threads have ended; no further round begins after one.
void for_each_in_parallel(std::size_t count, Cores const& cores,
                          std::function<void(std::size_t)> const& body);

}  // namespace mpixrma::engine
