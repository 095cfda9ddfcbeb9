/// mpix-rma env: the environment that programs need for this installation.
#pragma once

#include <map>
#include <string>

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Returns the variables that env.sh sets, by name. Throws Error if env.sh fails.
std::map<std::string, std::string> environment_of(Installation const& installation);

enum class Shell { posix, csh, fish };

/// Prints commands that set the environment.
void print_environment(Installation const& installation, Shell shell);
/// Prints the memory server's unit for this prefix.
void print_unit(Installation const& installation);

}  // namespace mpixrma::tool
