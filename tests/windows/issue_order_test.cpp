/// Overlapping operations of one origin to one target take effect in the order of the calls, with no call in
/// between but MPI_Win_flush_local: the order on which ARMCI-MPI builds its location consistency.
#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

constexpr int max_elements = 512;

int rounds() {
  char const* const given = std::getenv("MPIX_TEST_ROUNDS");
  return given != nullptr ? std::atoi(given) : 150;
}

/// Returns one seed for all processes, which a failing test prints.
unsigned seed() {
  static unsigned const chosen = [] {
    char const* const given = std::getenv("MPIX_TEST_SEED");
    unsigned value =
        given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    MPI_Bcast(&value, 1, MPI_UNSIGNED, 0, world);
    return value;
  }();
  return chosen;
}

template <typename T>
MPI_Datatype const type_of = MPI_DATATYPE_NULL;
template <>
MPI_Datatype const type_of<double> = MPI_DOUBLE;
template <>
MPI_Datatype const type_of<long> = MPI_LONG;

/// A part of a target's window that one origin uses, and the values that it must hold.
template <typename T>
class Region {
 public:
  Region(Window const& window, int target, int number)
      : window_(window), target_(target), first_(max_elements * number), expected_(max_elements, T{}) {}

  void put(int begin, int count, T value) {
    auto const& source = keep(std::vector<T>(static_cast<std::size_t>(count), value));
    ASSERT_EQ(MPI_Put(source.data(), count, type_of<T>, target_, at(begin), count, type_of<T>, window_),
              MPI_SUCCESS);
    for (int i = begin; i < begin + count; ++i) expected_[static_cast<std::size_t>(i)] = value;
  }
  void add(int begin, int count, T value) {
    auto const& source = keep(std::vector<T>(static_cast<std::size_t>(count), value));
    ASSERT_EQ(MPI_Accumulate(source.data(), count, type_of<T>, target_, at(begin), count, type_of<T>, MPI_SUM,
                             window_),
              MPI_SUCCESS);
    for (int i = begin; i < begin + count; ++i) expected_[static_cast<std::size_t>(i)] += value;
  }
  /// Gets the present values; check() compares them.
  void get(int begin, int count) {
    auto& read =
        reads_.emplace_back(Read{{expected_.begin() + begin, expected_.begin() + begin + count}, {}});
    read.values.resize(static_cast<std::size_t>(count), T{-1});
    ASSERT_EQ(MPI_Get(read.values.data(), count, type_of<T>, target_, at(begin), count, type_of<T>, window_),
              MPI_SUCCESS);
  }
  /// Called when the gets are complete. Returns the number of gets with wrong values.
  int check() {
    int wrong = 0;
    for (Read const& read : reads_) wrong += read.values == read.expected ? 0 : 1;
    reads_.clear();
    sources_.clear();
    return wrong;
  }

 private:
  struct Read {
    std::vector<T> expected;
    std::vector<T> values;
  };

  std::vector<T> const& keep(std::vector<T> source) {
    return sources_.emplace_back(std::make_unique<std::vector<T>>(std::move(source))).operator*();
  }
  MPI_Aint at(int element) const {
    return window_.at(target_, static_cast<MPI_Aint>(sizeof(T)) * (first_ + element));
  }

  Window const& window_;
  int target_;
  int first_;
  std::vector<T> expected_;
  std::vector<Read> reads_;
  std::vector<std::unique_ptr<std::vector<T>>> sources_;  ///< in use until their operations end
};

/// Returns when all processes have called it; until then calls MPI rarely, like a process that computes.
void wait_seldom() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(world, &request);
  for (int done = 0; done == 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

class IssueOrder : public FlavourTest {
 protected:
  MPI_Aint bytes() const { return MPI_Aint{8} * max_elements * 2 * size_; }
  std::mt19937 engine() const { return std::mt19937(seed() + static_cast<unsigned>(rank_)); }
};
MPIX_ON_EACH_FLAVOUR(IssueOrder);

/// Makes the calls of ARMCI_Put, several small ARMCI_Acc, and ARMCI_Get in ARMCI-MPI.
template <typename T>
int put_accumulate_get(Region<T>& region, MPI_Win window, int target, std::mt19937& random) {
  int const begin = static_cast<int>(random() % 16);
  region.put(begin, 1 + static_cast<int>(random() % 64), static_cast<T>(random() % 1000));
  MPI_Win_flush_local(target, window);
  for (unsigned batch = random() % 8; batch-- > 0;) {
    region.add(static_cast<int>(random() % 64), 1 + static_cast<int>(random() % 8), T{1});
    if (random() % 2 == 0) MPI_Win_flush_local(target, window);
  }
  region.get(0, 96);
  MPI_Win_flush_local(target, window);
  return region.check();
}

/// The first test of the program: no message has been sent to the target before.
TEST_P(IssueOrder, W1172_02_HoldsAtFirstContact) {
  Window const window(GetParam(), bytes());
  std::vector<Region<long>> regions;
  for (int rank = 0; rank < size_; ++rank) regions.emplace_back(window, rank, 2 * rank_);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  int wrong = 0;
  for (int rank = 0; rank < size_; ++rank) {
    Region<long>& region = regions[static_cast<std::size_t>(rank)];
    region.put(0, 64, 7);
    for (int i = 0; i < 4; ++i) region.add(0, 64, 1);
    region.get(0, 64);
    region.put(32, 64, 9);
    region.get(0, 96);
    MPI_Win_flush_local(rank, window);
    wrong += region.check();
  }
  EXPECT_EQ(wrong, 0) << "of " << 2 * size_ << " gets";
  MPI_Win_unlock_all(window);
}

TEST_P(IssueOrder, W1172_02_GetSeesEarlierPutAndAccumulates) {
  Window const window(GetParam(), bytes());
  auto random = engine();
  MPI_Win_lock_all(0, window);
  Region<double> doubles(window, next_, 2 * rank_);
  int wrong = 0;
  for (int round = 0; round < rounds(); ++round) wrong += put_accumulate_get(doubles, window, next_, random);
  EXPECT_EQ(wrong, 0) << "of " << rounds() << " gets of doubles, seed " << seed();
  wait_seldom();
  Region<long> longs(window, previous_, 2 * rank_ + 1);
  wrong = 0;
  for (int round = 0; round < rounds(); ++round)
    wrong += put_accumulate_get(longs, window, previous_, random);
  EXPECT_EQ(wrong, 0) << "of " << rounds() << " gets of longs, seed " << seed();
  MPI_Win_unlock_all(window);
}

/// The target calls MPI rarely, so that its agent has to serve the operations.
TEST_P(IssueOrder, W1172_02_HoldsAtTargetThatComputes) {
  Window const window(GetParam(), bytes());
  auto random = engine();
  MPI_Win_lock_all(0, window);
  if (rank_ == 0) {
    Region<double> doubles(window, next_, 0);
    Region<long> longs(window, next_, 1);
    int wrong = 0;
    for (int round = 0; round < rounds(); ++round) {
      wrong += put_accumulate_get(doubles, window, next_, random);
      wrong += put_accumulate_get(longs, window, next_, random);
    }
    EXPECT_EQ(wrong, 0) << "of " << 2 * rounds() << " gets, seed " << seed();
  }
  wait_seldom();
  MPI_Win_unlock_all(window);
}

/// Random sequences of overlapping puts, gets and accumulates of all sizes, without a wait.
TEST_P(IssueOrder, W1172_02_HoldsForRandomOverlappingOperations) {
  Window const window(GetParam(), bytes());
  auto random = engine();
  MPI_Win_lock_all(0, window);
  Region<long> region(window, next_, 2 * rank_);
  int wrong = 0;
  for (int round = 0; round < rounds(); ++round) {
    for (int i = 0; i < 12; ++i) {
      int const most = random() % 4 == 0 ? max_elements : 4;
      int const count = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
      int const begin = static_cast<int>(random() % static_cast<unsigned>(max_elements - count + 1));
      switch (random() % 3) {
        case 0: region.put(begin, count, static_cast<long>(random() % 1000)); break;
        case 1: region.add(begin, count, 1); break;
        default: region.get(begin, count);
      }
    }
    MPI_Win_flush_local(next_, window);
    wrong += region.check();
  }
  EXPECT_EQ(wrong, 0) << "seed " << seed();
  MPI_Win_unlock_all(window);
}

}  // namespace
}  // namespace mpixrma::test
