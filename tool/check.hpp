/// mpix-rma check: whether a program's windows are taken, and which paths its operations take.
#pragma once

#include <string>
#include <vector>

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Runs `command`, with mpirun and two processes where it begins with no launcher, and prints what became of
/// its windows. The command's exit status; exit_failure where that is 0 and windows were left to other
/// components. Throws Error.
int check_program(Installation const& installation, std::vector<std::string> command);

}  // namespace mpixrma::tool
