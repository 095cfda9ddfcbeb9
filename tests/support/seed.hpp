/// The seed of a randomised test, which is printed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace mpixrma::test {

/// MPIX_TEST_SEED, or a new one; printed so that a failure can be repeated.
inline std::uint64_t seed() {
  char const* const given = std::getenv("MPIX_TEST_SEED");
  std::uint64_t const value = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(value));
  std::fflush(stdout);  // otherwise a forked process would print it again
  return value;
}

}  // namespace mpixrma::test
