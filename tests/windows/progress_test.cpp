/// Targets that compute, and threads.
#include <atomic>
#include <memory>
#include <thread>

#include "tests/support/slowness.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Progress : public FlavourTest {};
MPIX_ON_EACH_FLAVOUR(Progress);

/// Rank 0 computes until rank 1 is done. If rank 0 reaches the timeout, rank 1 has waited for rank 0.
TEST_P(Progress, W1173_01_computing_target_does_not_delay_origins) {
  if (size_ < 2) GTEST_SKIP() << "for two ranks";
  Window const window(GetParam(), 4096);
  constexpr int flag = 511;  // behind the elements that are accumulated and read
  MPI_Barrier(world);
  if (rank_ == 0) {
    double const timeout = 50 * slowness;
    long const* const told = window.base<long>() + flag;
    double const start = MPI_Wtime();
    while (__atomic_load_n(told, __ATOMIC_ACQUIRE) == 0 && MPI_Wtime() - start < timeout) {
    }
    EXPECT_EQ(__atomic_load_n(told, __ATOMIC_ACQUIRE), 1);
  } else if (rank_ == 1) {
    double const ones[2] = {1, 1};
    double result = 0;
    double back[64];
    long const one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(ones, 2, MPI_DOUBLE, 0, window.at(0, 0), 2, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Fetch_and_op(ones, &result, MPI_DOUBLE, 0, window.at(0, 0), MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Get(back, 64, MPI_DOUBLE, 0, window.at(0, 0), 64, MPI_DOUBLE, window);
    MPI_Win_unlock(0, window);
    EXPECT_EQ(result, 1.0);
    EXPECT_EQ(back[0], 2.0);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, window.at(0, flag * 8), 1, MPI_LONG, MPI_REPLACE, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(world);
}

class Threads : public FlavourTest {
 protected:
  void SetUp() override {
    FlavourTest::SetUp();
    int provided = 0;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI_THREAD_MULTIPLE is not provided";
  }
  static constexpr int threads = 4;
  static void in_threads(auto const& body) {
    std::vector<std::thread> running;
    for (int i = 1; i < threads; ++i) running.emplace_back([&body, i] { body(i); });
    body(0);
    for (std::thread& thread : running) thread.join();
  }
};
MPIX_ON_EACH_FLAVOUR(Threads);

TEST_P(Threads, W115_03_threads_share_an_epoch) {
  constexpr int rounds = 300;
  Window const window(GetParam(), 4096);
  MPI_Win_lock_all(0, window);
  std::atomic<int> wrong = 0;
  long const one = 1;  // may be read until the accumulates are complete, at the latest in MPI_Win_unlock_all
  in_threads([&](int thread) {
    for (int i = 0; i < rounds; ++i) {
      long const number = i * 8 + thread;
      long back = -1;
      MPI_Accumulate(&one, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, MPI_SUM, window);
      MPI_Aint const own = window.at(next_, 64 + 8 * (threads * rank_ + thread));
      MPI_Put(&number, 1, MPI_LONG, next_, own, 1, MPI_LONG, window);
      MPI_Win_flush(next_, window);
      MPI_Get(&back, 1, MPI_LONG, next_, own, 1, MPI_LONG, window);
      MPI_Win_flush_local(next_, window);
      if (back != number) ++wrong;
    }
  });
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(wrong, 0);
  if (rank_ == 0) EXPECT_EQ(window.base<long>()[0], threads * rounds * size_);
}

TEST_P(Threads, W115_04_threads_lock_windows_of_their_own) {
  constexpr int rounds = 50;
  std::vector<std::unique_ptr<Window>> windows;
  for (int i = 0; i < threads; ++i) windows.push_back(std::make_unique<Window>(GetParam(), 64));
  in_threads([&](int thread) {
    Window const& window = *windows[static_cast<std::size_t>(thread)];
    for (int i = 0; i < rounds; ++i) {
      long value = 0;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Get(&value, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, window);
      MPI_Win_flush(0, window);
      value += thread + 1;
      MPI_Put(&value, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, window);
      MPI_Win_unlock(0, window);
    }
  });
  MPI_Barrier(world);
  for (int i = 0; rank_ == 0 && i < threads; ++i)
    EXPECT_EQ(windows[static_cast<std::size_t>(i)]->base<long>()[0], (i + 1) * rounds * size_);
}

}  // namespace
}  // namespace mpixrma::test
