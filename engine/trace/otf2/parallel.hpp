/// A loop whose iterations are distributed over several threads.
#pragma once

#include <cstddef>
#include <functional>

#include "engine/base/cores.hpp"

namespace mpixrma::engine {

/// Calls `body` with each number below `count`, in at most as many threads as there are `cores`, on which the
/// threads run. After an exception no further iteration begins; the first exception is rethrown once all
/// threads have ended.
void for_each_in_parallel(std::size_t count, Cores const& cores,
                          std::function<void(std::size_t)> const& body);

}  // namespace mpixrma::engine
