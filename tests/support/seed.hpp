/// The seed of a randomised test, which is printed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace mpixrma::nam {

/// Returns MPIX_TEST_SEED, or another seed each time.
inline std::uint64_t seed_of_test() {
  char const* const given = std::getenv("MPIX_TEST_SEED");
  std::uint64_t const seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace mpixrma::nam
