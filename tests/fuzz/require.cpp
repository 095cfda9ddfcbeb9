#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/targets.hpp"

namespace mpixrma::fuzz {

void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "found: %s\n", what);
  std::abort();
}

}  // namespace mpixrma::fuzz
