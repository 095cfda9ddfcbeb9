/// Tests that look for rare interleavings by repetition do a part of it by default, and all of it in the long
/// run (label `long`), which sets MPIX_TEST_AT_LENGTH.
#pragma once

#include <cstdlib>

namespace mpixrma::test {

/// By how much a test is shortened whose default run is to be a `share` of the long one.
inline int shortened(int share) { return std::getenv("MPIX_TEST_AT_LENGTH") != nullptr ? 1 : share; }

}  // namespace mpixrma::test
