/// Errors of mpix-rma.
#pragma once

#include <stdexcept>

namespace mpixrma::tool {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;

/// Ends the command with exit_failure and prints the text.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace mpixrma::tool
