/// Exit codes of mpix-namd and mpix-nam.
#pragma once

namespace mpixrma::nam {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_taken = 3;    ///< the directory, the socket or the name is taken
inline constexpr int exit_damaged = 4;  ///< the catalog cannot be used
inline constexpr int exit_unreachable = 5;
inline constexpr int exit_not_found = 6;
inline constexpr int exit_denied = 7;

}  // namespace mpixrma::nam
