/// Tests that search for rare interleavings by repetition run shortened by default, and in full in the long
/// run (label `long`), which sets MPIX_TEST_FULL_LENGTH.
#pragma once

#include <cstdlib>

namespace mpixrma::test {

/// Returns the divisor of a test whose default run is a `share`-th of the long one.
inline int shortened(int share) { return std::getenv("MPIX_TEST_FULL_LENGTH") != nullptr ? 1 : share; }

}  // namespace mpixrma::test
