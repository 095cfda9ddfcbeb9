/// The expected values of memory and counters when everything is complete.
#pragma once

#include <memory>
#include <vector>

#include "tests/stress/memory.hpp"
#include "tests/stress/origin.hpp"

namespace mpixrma::stress {

/// Compares this rank's memory and counters with the expectations of all origins. Collective. Prints a line
/// for each difference, and returns their number.
std::uint64_t check(Job& job, Memory const& memory, Region const& region,
                    std::vector<std::unique_ptr<Origin>> const& origins);

}  // namespace mpixrma::stress
