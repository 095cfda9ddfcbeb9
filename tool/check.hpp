/// mpix-rma check: whether the component creates a program's windows, and the protocols that operations take.
#pragma once

#include <string>
#include <vector>

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Runs `command`, with mpirun and two processes if it does not begin with a launcher, and prints how many of
/// its windows the component created, and its operations by protocol. Returns the command's exit status;
/// exit_failure if that is 0 and other components created windows, or no process used the component. Throws
/// Error.
int check_program(Installation const& installation, std::vector<std::string> command);

}  // namespace mpixrma::tool
