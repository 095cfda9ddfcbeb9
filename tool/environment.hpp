/// mpix-rma env: the environment in which programs use this installation.
#pragma once

#include <map>
#include <string>

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// The variables of env.sh after it, by name; those that are set. Throws Error where env.sh refuses.
std::map<std::string, std::string> environment_of(Installation const& installation);

enum class Shell { posix, csh, fish };

/// Prints commands that set the environment.
void print_environment(Installation const& installation, Shell shell);
/// Prints the memory server's unit for this prefix.
void print_unit(Installation const& installation);

}  // namespace mpixrma::tool
