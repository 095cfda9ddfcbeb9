/// Other programs, run by mpix-rma.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mpixrma::tool {

struct Output {
  int status = 0;    ///< exit status; 128 and the signal's number where a signal has ended it
  std::string text;  ///< what the program has written to its standard output
};

/// Runs a program, found by PATH, until it ends; its standard error is that of this process. `changes`:
/// variables of its environment that differ from this process's. Throws Error where the program cannot be
/// started.
Output run(std::vector<std::string> const& command, std::map<std::string, std::string> const& changes = {});

}  // namespace mpixrma::tool
