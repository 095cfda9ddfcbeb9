/// The clause whose promise a library of broken promises breaks.
#pragma once

#include <cstdlib>
#include <cstring>

namespace mpixrma::broken {

/// Whether the environment variable MPIX_BROKEN_CLAUSE names this clause.
inline bool is(char const* clause) noexcept {
  static char const* const broken = std::getenv("MPIX_BROKEN_CLAUSE");
  return broken != nullptr && std::strcmp(broken, clause) == 0;
}

}  // namespace mpixrma::broken
