/// Runs other programs for mpix-rma.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mpixrma::tool {

struct Output {
  int status = 0;    ///< exit status; 128 plus the signal number if a signal ended it
  std::string text;  ///< standard output of the program
};

/// Runs a program, found by PATH, until it ends; its standard error is that of this process. `changes` has
/// the environment variables that differ from this process's. Throws Error if the program cannot be started.
Output run(std::vector<std::string> const& command, std::map<std::string, std::string> const& changes = {});

}  // namespace mpixrma::tool
