/// Finds a shorter plan that still fails.
#pragma once

#include <functional>

#include "tests/windows/random/plan.hpp"

namespace mpixrma::random_windows {

/// Turns off the parts of the plan that the failure does not need. `fails` plays the plan and gives all ranks
/// the same answer, so that all of them search alike; it is called at most `trials` times.
void shrink(Plan& plan, std::function<bool()> const& fails, int trials);

}  // namespace mpixrma::random_windows
