/// What memory and counters have to be when everything is complete.
#pragma once

#include <memory>
#include <vector>

#include "tests/stress/memory.hpp"
#include "tests/stress/origin.hpp"

namespace mpixrma::stress {

/// Compares this rank's memory and counters with what all origins expect of them. Collective. Number of
/// differences, each told in a line.
std::uint64_t check(Job& job, Memory const& memory, Region const& region,
                    std::vector<std::unique_ptr<Origin>> const& origins);

}  // namespace mpixrma::stress
