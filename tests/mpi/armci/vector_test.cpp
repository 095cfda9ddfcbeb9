/// Lists of segments: a call has the effect of transferring its segments one after the other.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "include/armci/armci.h"
#include "tests/support/armci_memory.hpp"
#include "tests/support/seed.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

constexpr int elements = 40000;  ///< of the memory of both sides, each a long

enum class Shape { regular, regular_but_one, irregular };

/// Indices of the first elements of segments, which do not overlap.
std::vector<int> places(std::mt19937_64& random, Shape shape, int count, int length) {
  std::vector<int> found;
  int const gap = static_cast<int>(random() % 5);
  int const odd = static_cast<int>(random() % static_cast<unsigned>(count));
  for (int i = 0, at = 5; i < count; ++i, at += length + gap) {
    if (shape == Shape::irregular) at += static_cast<int>(random() % 3);
    found.push_back(at + (shape == Shape::regular_but_one && i == odd && gap > 0 ? 1 : 0));
  }
  if (random() % 2 == 0) std::reverse(found.begin(), found.end());
  if (shape == Shape::irregular && random() % 2 == 0) std::shuffle(found.begin(), found.end(), random);
  return found;
}

/// One call, and what it does to copies of both sides.
class RandomList {
 public:
  explicit RandomList(std::mt19937_64& random)
      : length_(1 + static_cast<int>(random() % 12)), count_(1 + static_cast<int>(random() % 400)) {
    auto const shape = [&] { return static_cast<Shape>(random() % 3); };
    local_ = places(random, shape(), count_, length_);
    remote_ = places(random, shape(), count_, length_);
    operation_ = static_cast<int>(random() % 3);
    scale_ = 1 + static_cast<long>(random() % 3);
  }

  void call(long* local, long* remote, int process) {
    std::vector<void*> here;
    std::vector<void*> there;
    for (int i = 0; i < count_; ++i) {
      here.push_back(local + local_[static_cast<std::size_t>(i)]);
      there.push_back(remote + remote_[static_cast<std::size_t>(i)]);
    }
    auto const bytes = static_cast<int>(sizeof(long)) * length_;
    armci_giov_t to{here.data(), there.data(), bytes, count_};
    armci_giov_t from{there.data(), here.data(), bytes, count_};
    // As doubles the bits are those of small denormalised numbers, whose sums are exact.
    double scale = 1;
    int const kind = scale_ == 1 ? ARMCI_ACC_DBL : ARMCI_ACC_LNG;
    void* const factor = scale_ == 1 ? static_cast<void*>(&scale) : &scale_;
    switch (operation_) {
      case 0: ASSERT_EQ(ARMCI_PutV(&to, 1, process), 0); break;
      case 1: ASSERT_EQ(ARMCI_GetV(&from, 1, process), 0); break;
      default: ASSERT_EQ(ARMCI_AccV(kind, factor, &to, 1, process), 0);
    }
  }

  void apply(std::vector<long>& local, std::vector<long>& remote) const {
    for (std::size_t i = 0; i < local_.size(); ++i) {
      for (int k = 0; k < length_; ++k) {
        long& here = local[static_cast<std::size_t>(local_[i] + k)];
        long& there = remote[static_cast<std::size_t>(remote_[i] + k)];
        switch (operation_) {
          case 0: there = here; break;
          case 1: here = there; break;
          default: there += scale_ * here;
        }
      }
    }
  }

 private:
  int length_;  ///< elements of a segment
  int count_;   ///< segments
  std::vector<int> local_;
  std::vector<int> remote_;
  int operation_;
  long scale_;
};

TEST(Vector, RandomListsMatchModel) {
  Remote memory(elements * static_cast<armci_size_t>(sizeof(long)));
  int const next = (me() + 1) % size();
  std::mt19937_64 random(mpixrma::test::seed() + static_cast<std::uint64_t>(me()));
  std::vector<long> local(elements);
  for (long& value : local) value = static_cast<long>(random() % 1000);
  std::vector<long> local_model = local;
  std::vector<long> remote_model(elements, 0);
  std::vector<long> got(elements);
  for (int round = 0; round < 60; ++round) {
    RandomList list(random);
    list.call(local.data(), reinterpret_cast<long*>(memory.at(next)), next);
    list.apply(local_model, remote_model);
    ASSERT_EQ(local, local_model) << "round " << round;
    ASSERT_EQ(ARMCI_Get(memory.at(next), got.data(), elements * static_cast<int>(sizeof(long)), next), 0);
    ASSERT_EQ(got, remote_model) << "round " << round;
    // Sums stay exact as doubles and as integers.
    for (long& value : local) value %= 1000;
    for (long& value : local_model) value %= 1000;
  }
  ARMCI_Barrier();
}

/// The fields and the type of accumulate as the text of ARMCI 1.1 names them, beside ARMCI-MPI's names.
TEST(Vector, AcceptsFieldNamesOfTheSpecification) {
  static_assert(sizeof(armci_giov_t) == 2 * sizeof(void*) + 2 * sizeof(int));
  static_assert(offsetof(armci_giov_t, dst_ptr_ar) == sizeof(void*));
  static_assert(offsetof(armci_giov_t, bytes) == 2 * sizeof(void*));
  static_assert(offsetof(armci_giov_t, ptr_ar_len) == 2 * sizeof(void*) + sizeof(int));
  Remote remote(4 * sizeof(std::complex<double>));
  int const next = (me() + 1) % size();
  std::complex<double> values[2] = {{1, 2}, {3, 4}};
  std::complex<double> const scale{0, 1};
  void* here[] = {&values[0], &values[1]};
  void* there[] = {remote.at(next, 0), remote.at(next, 48)};
  armci_giov_t list{};
  list.src_ptr_ar = here;
  list.dst_ptr_ar = there;
  list.bytes = sizeof values[0];
  list.ptr_ar_len = 2;
  ASSERT_EQ(ARMCI_PutV(&list, 1, next), 0);
  ASSERT_EQ(ARMCI_AccV(ARMCI_ACC_DCPL, const_cast<std::complex<double>*>(&scale), &list, 1, next), 0);
  std::complex<double> back[2];
  void* to[] = {&back[0], &back[1]};
  list.src_ptr_ar = there;
  list.dst_ptr_ar = to;
  ASSERT_EQ(ARMCI_GetV(&list, 1, next), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(back[i], values[i] + scale * values[i]);
}

/// By every method, also in memory that is not mapped here.
TEST(Vector, AccumulatesAddUpWhereSegmentsAreTheSame) {
  constexpr int count = 2048;
  std::vector<double> mine(count, 0.0);
  auto address = reinterpret_cast<MPI_Aint>(mine.data());
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(size()));
  MPI_Allgather(&address, 1, MPI_AINT, addresses.data(), 1, MPI_AINT, MPI_COMM_WORLD);
  int const next = (me() + 1) % size();
  std::vector<double> const ones(count, 1.0);
  std::vector<double> const twos(count, 2.0);
  void* const there = reinterpret_cast<void*>(addresses[static_cast<std::size_t>(next)]);
  void* sources[] = {const_cast<double*>(ones.data()), const_cast<double*>(twos.data())};
  void* places[] = {there, there};
  armci_giov_t list = {sources, places, count * sizeof(double), 2};
  double one = 1.0;
  ASSERT_EQ(ARMCI_AccV(ARMCI_ACC_DBL, &one, &list, 1, next), 0);
  ARMCI_AllFence();
  ARMCI_Barrier();
  EXPECT_EQ(std::count(mine.begin(), mine.end(), 3.0), count);
  ARMCI_Barrier();
}

}  // namespace
