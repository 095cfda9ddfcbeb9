/// The common part of the attacks on windows.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/windows/support.hpp"

namespace mpixrma::test {

/// MPIX_TEST_ROUNDS multiplies the rounds of each attack.
inline int rounds(int usual) {
  char const* const factor = std::getenv("MPIX_TEST_ROUNDS");
  return factor != nullptr ? usual * std::atoi(factor) : usual;
}

/// The same seed at all ranks, printed; MPIX_TEST_SEED repeats a run.
inline std::uint64_t shared_seed() {
  static std::uint64_t const seed = [] {
    char const* const given = std::getenv("MPIX_TEST_SEED");
    std::uint64_t drawn = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    MPI_Bcast(&drawn, 1, MPI_UINT64_T, 0, world);
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    if (rank == 0) std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(drawn));
    return drawn;
  }();
  return seed;
}

class Random {
 public:
  explicit Random(std::uint64_t stream) : engine_(shared_seed() * 1000003 + stream) {}
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }
  bool chance(int one_in) { return below(one_in) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// A committed datatype for a scope.
class Type {
 public:
  template <typename Make>
  explicit Type(Make make) {
    make(&type_);
    MPI_Type_commit(&type_);
  }
  ~Type() { MPI_Type_free(&type_); }
  Type(Type const&) = delete;
  Type& operator=(Type const&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace mpixrma::test
