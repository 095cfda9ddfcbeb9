/// Many processes and the locks of their windows: no process starves, and no cycle of waits occurs.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <random>
#include <thread>

#include "tests/support/slowness.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class WindowLocks : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
  }
  std::uint32_t seed() const {
    std::uint32_t seed = std::random_device{}();
    if (char const* const wanted = std::getenv("MPIX_TEST_SEED"))
      seed = static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10));
    MPI_Bcast(&seed, 1, MPI_UINT32_T, 0, world);
    if (rank_ == 0) std::cout << "MPIX_TEST_SEED=" << seed << '\n';
    return seed;
  }
  static int rounds(int usual) {
    char const* const wanted = std::getenv("MPIX_TEST_ROUNDS");
    return wanted != nullptr ? std::atoi(wanted) : usual / slowness;
  }

  int rank_ = 0;
  int size_ = 0;
};

void add(int target, int index, long value, Window const& window, long* before = nullptr) {
  long ignored = 0;
  MPI_Fetch_and_op(&value, before != nullptr ? before : &ignored, MPI_LONG, target,
                   window.at(target, index * 8), MPI_SUM, window);
  MPI_Win_flush(target, window);
}

/// The first ranks lock one rank at a time exclusively, the others lock all ranks repeatedly: few of the
/// others' epochs may overtake an exclusive request.
TEST_F(WindowLocks, ExclusiveLockIsNotStarvedByLockAll) {
  if (size_ < 4) GTEST_SKIP() << "needs four ranks";
  constexpr int passes_expected = 2000;  // on average; epochs also run while a requester has no processor
  int const locks = rounds(20);
  Window const window(Flavour::allocate, 64);
  int const first = size_ - 2;
  bool const alone = rank_ < 1 + size_ / 8;
  std::mt19937 random(seed() + static_cast<unsigned>(rank_));
  MPI_Barrier(world);
  double worst = 0;
  long passes = 0;
  if (alone) {
    long last = -1;
    for (int i = 0; i < locks; ++i) {
      int const target = first + i % 2;
      double const start = MPI_Wtime();
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
      long seen = 0;
      add(target, 0, 0, window, &seen);
      worst = std::max(worst, MPI_Wtime() - start);
      MPI_Win_unlock(target, window);
      if (i % 2 == 0 && last >= 0) passes += seen - last;
      if (i % 2 == 0) last = seen;
    }
    for (int target = first; target < size_; ++target) {
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
      add(target, 1, 1, window);
      MPI_Win_unlock(target, window);
    }
  }
  bool done = alone;
  while (!done) {
    MPI_Win_lock_all(0, window);
    int const swapped = static_cast<int>(random() % 2);
    long ended = 0;
    for (int i = 0; i < 4; ++i) {
      int const target = first + (i + swapped) % 2;
      add(target, 0, 1, window);
      add(target, 1, 0, window, &ended);
      // So that epochs overlap, whatever the number of processors.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    MPI_Win_unlock_all(window);
    done = ended == 1 + size_ / 8;
  }
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, world);
  MPI_Allreduce(MPI_IN_PLACE, &passes, 1, MPI_LONG, MPI_MAX, world);
  if (rank_ == 0) std::cout << "worst wait " << worst << " s, epochs passed " << passes << '\n';
  EXPECT_LE(passes, long{passes_expected} * locks / 2);
}

/// All ranks lock the same rank of a window that is new, in exclusive and shared epochs. With few connections
/// (osc_mpix_max_endpoints) these are closed and reopened meanwhile.
TEST_F(WindowLocks, ProtectCountersOfNewWindows) {
  std::mt19937 random(seed());  // the same numbers at all ranks
  for (int round = 0; round < rounds(20); ++round) {
    Window const window(Flavour::create, 64);
    for (int i = 0; i < 3; ++i) {
      int const target = static_cast<int>(random() % static_cast<unsigned>(size_));
      long counters[2] = {};
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
      MPI_Get(counters, 2, MPI_LONG, target, window.at(target, 0), 2, MPI_LONG, window);
      MPI_Win_flush(target, window);
      long const next[2] = {counters[0] + 1, counters[1] + 1};
      MPI_Put(&next[0], 1, MPI_LONG, target, window.at(target, 0), 1, MPI_LONG, window);
      MPI_Put(&next[1], 1, MPI_LONG, target, window.at(target, 8), 1, MPI_LONG, window);
      MPI_Win_unlock(target, window);
      MPI_Barrier(world);
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
      MPI_Get(counters, 2, MPI_LONG, target, window.at(target, 0), 2, MPI_LONG, window);
      MPI_Win_unlock(target, window);
      EXPECT_EQ(counters[0], counters[1]) << "round " << round;
      EXPECT_EQ(counters[0] % size_, 0) << "round " << round;
      MPI_Barrier(world);
    }
    MPI_Win_lock_all(0, window);
    for (int target = 0; target < size_; ++target) add(target, 2, 1, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(world);
    MPI_Win_lock_all(0, window);
    for (int target = 0; target < size_; ++target) {
      long sum = 0;
      add(target, 2, 0, window, &sum);
      EXPECT_EQ(sum, size_) << "round " << round;
    }
    MPI_Win_unlock_all(window);
  }
}

/// Ranks hold a shared lock of one window while they request a shared lock of the other one, and exclusive
/// requests wait for both windows.
TEST_F(WindowLocks, SharesOfSeveralWindowsDoNotWaitForEachOther) {
  if (size_ < 4) GTEST_SKIP() << "needs four ranks";
  Window const first(Flavour::allocate, 64);
  Window const second(Flavour::allocate, 64);
  for (int round = 0; round < rounds(20); ++round) {
    Window const& one = rank_ % 2 == 0 ? first : second;
    Window const& other = rank_ % 2 == 0 ? second : first;
    int const target = 2;
    if (rank_ < 2) {
      MPI_Win_lock_all(0, one);
      add(target, 0, 1, one);
      MPI_Win_lock_all(0, other);
      MPI_Barrier(world);
      // The exclusive requests arrive before, after and between these operations.
      for (unsigned i = 0; i < 1u << round % 14; ++i) add(target, 1, 0, one);
      add(target, 0, 1, other);
      MPI_Win_unlock_all(other);
      MPI_Win_unlock_all(one);
    } else {
      MPI_Barrier(world);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, one);
      add(target, 0, 1, one);
      MPI_Win_unlock(target, one);
    }
    MPI_Barrier(world);
  }
}

/// The holder of a shared lock waits for a message of a process whose own shared request is behind an
/// exclusive one.
TEST_F(WindowLocks, HolderMayWaitForAMessageOfAnotherHolder) {
  if (size_ < 4) GTEST_SKIP() << "needs four ranks";
  constexpr int target = 2;
  Window const window(Flavour::allocate, 64);
  for (int round = 0; round < 5; ++round) {
    MPI_Barrier(world);
    if (rank_ == 0) {
      MPI_Win_lock_all(0, window);
      add(target, 0, 1, window);
      for (int const other : {1, 3}) MPI_Send(nullptr, 0, MPI_BYTE, other, 0, world);
      MPI_Recv(nullptr, 0, MPI_BYTE, 1, 0, world, MPI_STATUS_IGNORE);
      MPI_Win_unlock_all(window);
    } else if (rank_ == 3) {
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
      add(target, 0, 1, window);
      MPI_Win_unlock(target, window);
    } else if (rank_ == 1) {
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the exclusive request arrives
      MPI_Win_lock_all(0, window);
      add(target, 0, 1, window);
      MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, world);
      MPI_Win_unlock_all(window);
    }
    MPI_Barrier(world);
    if (rank_ == target) EXPECT_EQ(window.base<long>()[0], 3 * (round + 1));
  }
}

/// The epochs of a rank on two windows, and the numbers of its updates of each target.
class RandomEpochs {
 public:
  RandomEpochs(std::uint32_t seed, int size)
      : size_(size), random_(seed), shared_(2 * static_cast<std::size_t>(size)), exclusive_(shared_.size()) {}

  /// Shares of all ranks of both windows.
  void share_all() {
    for (Window const& each : windows_) MPI_Win_lock_all(0, each);
    for (int i = 1 + below(4); i != 0; --i) use(below(2), below(size_));
    for (Window const& each : windows_) MPI_Win_unlock_all(each);
  }
  void lock_one() {
    int const window = below(2);
    int const target = below(size_);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window_of(window));
    increment(window, target);
    MPI_Win_unlock(target, window_of(window));
  }
  /// Locks of some ranks in ascending order, the last of which may be exclusive.
  void lock_some() {
    int const window = below(2);
    Window const& in = window_of(window);
    std::vector<int> targets;
    for (int target = 0; target < size_; ++target) {
      if (below(2) == 0) targets.push_back(target);
    }
    bool const last_alone = below(2) == 0;
    for (int const target : targets) {
      bool const exclusive = last_alone && target == targets.back();
      MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, in);
      exclusive ? increment(window, target) : use(window, target);
    }
    std::ranges::shuffle(targets, random_);
    for (int const target : targets) MPI_Win_unlock(target, in);
  }
  void run() {
    switch (below(3)) {
      case 0: return share_all();
      case 1: return lock_one();
      default: return lock_some();
    }
  }
  /// Compares the memory of this rank with the updates of all ranks. Collective.
  void compare(int rank) {
    for (std::vector<long>* const counts : {&shared_, &exclusive_})
      MPI_Allreduce(MPI_IN_PLACE, counts->data(), static_cast<int>(counts->size()), MPI_LONG, MPI_SUM, world);
    for (int window = 0; window < 2; ++window) {
      Window const& in = window_of(window);
      MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, in);
      EXPECT_EQ(in.base<long>()[0], shared_[index_of(window, rank)]);
      EXPECT_EQ(in.base<long>()[1], exclusive_[index_of(window, rank)]);
      MPI_Win_unlock(rank, in);
    }
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  Window const& window_of(int window) const { return windows_[static_cast<std::size_t>(window)]; }
  std::size_t index_of(int window, int target) const {
    return static_cast<std::size_t>(window * size_ + target);
  }

  void use(int window, int target) {
    add(target, 0, 1, window_of(window));
    ++shared_[index_of(window, target)];
  }
  /// Under an exclusive lock.
  void increment(int window, int target) {
    Window const& in = window_of(window);
    long value = 0;
    MPI_Get(&value, 1, MPI_LONG, target, in.at(target, 8), 1, MPI_LONG, in);
    MPI_Win_flush(target, in);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, target, in.at(target, 8), 1, MPI_LONG, in);
    MPI_Win_flush_local(target, in);
    ++exclusive_[index_of(window, target)];
  }

  int size_;
  std::mt19937 random_;
  std::array<Window, 2> const windows_{Window(Flavour::allocate, 64), Window(Flavour::create, 64)};
  std::vector<long> shared_;     ///< updates under shared locks, by window and target
  std::vector<long> exclusive_;  ///< likewise under exclusive ones
};

/// These epochs cannot deadlock if shared requests pass exclusive ones.
TEST_F(WindowLocks, RandomEpochsComplete) {
  RandomEpochs epochs(seed() + static_cast<unsigned>(rank_), size_);
  MPI_Barrier(world);
  for (int round = 0; round < rounds(200); ++round) epochs.run();
  MPI_Barrier(world);
  epochs.compare(rank_);
  MPI_Barrier(world);
}

}  // namespace
}  // namespace mpixrma::test
