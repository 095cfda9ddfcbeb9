/// The clause whose promise a library of broken promises breaks.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace mpixrma::broken {

/// Whether the environment variable MPIX_BROKEN_CLAUSE names this clause.
inline bool is(char const* clause) noexcept {
  static char const* const broken = std::getenv("MPIX_BROKEN_CLAUSE");
  return broken != nullptr && std::strcmp(broken, clause) == 0;
}

/// Pauses between the two parts of a divided operation. A process that only yields continues at once as long
/// as a core is free.
inline void let_others_in() { ::usleep(20); }

}  // namespace mpixrma::broken
