/// ARMCI: strided accumulates whose rows overlap at the target update each element once for each row.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "include/armci/armci.h"
#include "tests/support/armci_memory.hpp"
#include "tests/support/seed.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

constexpr int bytes_of_long = static_cast<int>(sizeof(long));

/// A block of rows of longs. The strides at the target are random, so that rows may overlap there.
class RandomBlock {
 public:
  explicit RandomBlock(std::mt19937_64& random) {
    auto const below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    levels_ = 1 + below(4);
    elements_ = 1 + below(3);
    count_.push_back(elements_ * bytes_of_long);
    for (int i = 0; i < levels_; ++i) {
      count_.push_back(1 + below(4));
      local_.push_back(elements_ * bytes_of_long);
      for (int j = 0; j < i; ++j) local_.back() *= count_[static_cast<std::size_t>(j + 1)];
      int stride = below(24);
      if (i == 0) stride = std::max(stride, elements_);  // rows of the innermost level must not overlap
      remote_.push_back((below(2) == 0 ? stride : -stride) * bytes_of_long);
      values_ *= count_.back();
    }
    values_ *= elements_;
  }

  /// Longs in each direction from the first that the target's memory needs.
  static constexpr int reach = 4 * 3 * 24 + 3;
  int values() const { return values_; }

  int call(std::vector<long>& source, long* target, int process, bool blocking) {
    long scale = 2;
    if (blocking)
      return ARMCI_AccS(ARMCI_ACC_LNG, &scale, source.data(), local_.data(), target, remote_.data(),
                        count_.data(), levels_, process);
    armci_hdl_t handle{};
    int const code = ARMCI_NbAccS(ARMCI_ACC_LNG, &scale, source.data(), local_.data(), target, remote_.data(),
                                  count_.data(), levels_, process, &handle);
    return ARMCI_Wait(&handle) + code;
  }

  void apply(std::vector<long> const& source, long* target) const {
    for (int value = 0; value < values_; ++value) {
      int row = value / elements_;
      std::ptrdiff_t place = value % elements_;
      for (std::size_t i = 0; i < remote_.size(); ++i) {
        place += row % count_[i + 1] * (remote_[i] / bytes_of_long);
        row /= count_[i + 1];
      }
      target[place] += 2 * source[static_cast<std::size_t>(value)];
    }
  }

 private:
  int levels_;
  int elements_;    ///< of a row
  int values_ = 1;  ///< of the block
  std::vector<int> count_;
  std::vector<int> local_;
  std::vector<int> remote_;
};

/// In memory of ARMCI_Malloc, and in other memory, which the origin does not map.
TEST(Strided, OverlappingRowsAreAccumulatedOneByOne) {
  constexpr std::size_t longs = 2 * RandomBlock::reach + 1;
  constexpr int bytes = static_cast<int>(longs) * bytes_of_long;
  Remote memory(bytes);
  std::vector<long> other(longs);
  std::vector<long*> others(static_cast<std::size_t>(size()));
  long* const mine = other.data();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, others.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  int const next = (me() + 1) % size();
  long* const targets[] = {reinterpret_cast<long*>(memory.at(next)), others[static_cast<std::size_t>(next)]};
  std::mt19937_64 random(mpixrma::test::seed() + static_cast<std::uint64_t>(me()));
  for (long* const target : targets) {
    std::vector<long> expected(longs);
    std::vector<long> found(longs);
    for (int round = 0; round < 200; ++round) {
      RandomBlock block(random);
      std::vector<long> source(static_cast<std::size_t>(block.values()));
      for (long& value : source) value = static_cast<long>(random() % 1000);
      ASSERT_EQ(block.call(source, target + RandomBlock::reach, next, round % 2 == 0), 0);
      block.apply(source, expected.data() + RandomBlock::reach);
      ASSERT_EQ(ARMCI_Get(target, found.data(), bytes, next), 0);
      ASSERT_EQ(found, expected) << "round " << round;
    }
  }
  ARMCI_Barrier();
}

}  // namespace
