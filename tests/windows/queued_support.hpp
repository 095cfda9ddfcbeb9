/// Operations on windows that wait in the queue of their target.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "tests/windows/support.hpp"

namespace mpixrma::test {

inline constexpr int origin = 0;
inline constexpr int large = 1 << 16;  // longs; more than a message holds
inline constexpr int large_at = 64;
inline constexpr MPI_Aint bytes = (large_at + large) * static_cast<MPI_Aint>(sizeof(long));

inline void send_signal(int rank) { MPI_Send(nullptr, 0, MPI_BYTE, rank, 7, world); }
inline void await_signal(int rank) { MPI_Recv(nullptr, 0, MPI_BYTE, rank, 7, world, MPI_STATUS_IGNORE); }

/// Whether MPI_Win_lock returns with the lock. Below MPI_THREAD_MULTIPLE, if all operations are messages, the
/// lock request may precede them in the stream instead.
inline bool lock_returns_with_lock() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return on_one_host() || level == MPI_THREAD_MULTIPLE;
}

/// One operation of each kind, most of them on the same word, and the buffers that they use.
class AllKinds {
 public:
  AllKinds() { std::iota(large_.begin(), large_.end(), 1000L); }

  void issue(Window const& window, int target) {
    MPI_Aint const word = window.at(target, 0);
    EXPECT_EQ(MPI_Put(&seven_, 1, MPI_LONG, target, word, 1, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Accumulate(&five_, 1, MPI_LONG, target, word, 1, MPI_LONG, MPI_SUM, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Fetch_and_op(&one_, &fetched_, MPI_LONG, target, word, MPI_SUM, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Compare_and_swap(&twenty_, &thirteen_, &swapped_, MPI_LONG, target, word, window),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Get(&got_, 1, MPI_LONG, target, word, 1, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_accumulate(&two_, 1, MPI_LONG, &accumulated_, 1, MPI_LONG, target, word, 1, MPI_LONG,
                                 MPI_SUM, window),
              MPI_SUCCESS);
    issue_derived(window, target);
    EXPECT_EQ(MPI_Put(large_.data(), large, MPI_LONG, target, window.at(target, 8 * large_at), large,
                      MPI_LONG, window),
              MPI_SUCCESS);
  }
  /// To be called when the operations are complete.
  void expect_results() const {
    EXPECT_EQ(fetched_, 12);
    EXPECT_EQ(swapped_, 13);
    EXPECT_EQ(got_, 20);
    EXPECT_EQ(accumulated_, 20);
  }

  static void expect_nothing_at(Window const& window) {
    long const* const memory = window.base<long>();
    EXPECT_TRUE(std::all_of(memory, memory + large_at + large, [](long value) { return value == 0; }));
  }
  static void expect_all_at(Window const& window) {
    long const* const memory = window.base<long>();
    EXPECT_EQ(memory[0], 22);
    std::array<long, 7> const strided{31, 0, 32, 0, 33, 0, 34};
    EXPECT_TRUE(std::equal(strided.begin(), strided.end(), memory + 10));
    for (int i = 0; i < large; ++i) ASSERT_EQ(memory[large_at + i], 1000L + i);
  }

 private:
  /// The datatypes are freed before the operation begins.
  void issue_derived(Window const& window, int target) {
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, 2, MPI_LONG, &spread);
    MPI_Type_commit(&spread);
    MPI_Datatype pairs = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 2, 3, MPI_LONG, &pairs);
    MPI_Type_commit(&pairs);
    EXPECT_EQ(MPI_Put(paired_.data(), 1, pairs, target, window.at(target, 80), 1, spread, window),
              MPI_SUCCESS);
    MPI_Type_free(&spread);
    MPI_Type_free(&pairs);
  }

  long const seven_ = 7;
  long const five_ = 5;
  long const one_ = 1;
  long const two_ = 2;
  long const thirteen_ = 13;
  long const twenty_ = 20;
  std::array<long, 5> const paired_{31, 32, -1, 33, 34};
  std::vector<long> large_ = std::vector<long>(large);
  long fetched_ = -1;
  long swapped_ = -1;
  long got_ = -1;
  long accumulated_ = -1;
};

class LocalCalls : public FlavourTest {
 protected:
  /// `access()` runs at the origin while the last rank holds its own lock, and calls send_signal(last_)
  /// before `access()` waits for anything.
  template <typename Access>
  void while_locked(Window const& window, Access access) {
    if (rank_ == last_) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last_, 0, window);
      MPI_Barrier(world);
      await_signal(origin);
      AllKinds::expect_nothing_at(window);
      MPI_Win_unlock(last_, window);
    } else {
      MPI_Barrier(world);
    }
    if (rank_ == origin) access();
    MPI_Barrier(world);
  }
  /// In a window of shared memory, MPI_Win_lock_all itself acquires the locks.
  bool waits_for_locks() const { return size_ == 1 || GetParam() == Flavour::shared; }

  int last_ = size_ - 1;
};

}  // namespace mpixrma::test
