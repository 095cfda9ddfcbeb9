/// A thread that waits for the queue of a target, and another one that adds calls to it at the worst times.
#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

#include "tests/windows/notify_support.hpp"
#include "tests/windows/queued_support.hpp"

namespace {

/// Called by the waiting thread before it locks any mutex.
thread_local void (*before_lock)() = nullptr;

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static std::atomic<int (*)(pthread_mutex_t*)> system{nullptr};
  auto lock = system.load(std::memory_order_relaxed);
  if (lock == nullptr) {
    lock = reinterpret_cast<int (*)(pthread_mutex_t*)>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    system.store(lock, std::memory_order_relaxed);
  }
  if (before_lock != nullptr) before_lock();
  return lock(mutex);
}

namespace mpixrma::test {
namespace {

/// Set to make the other thread make one call. That thread then resets it.
std::atomic<bool> call_is_due{false};

/// Calls that the other thread may still make in this round.
int calls_left = 0;

/// Lets the other thread make a call one time in eight, so that the queue is sometimes empty.
void let_other_thread_call() {
  thread_local std::minstd_rand random;
  if (random() / 64 % 8 != 0 || calls_left == 0) return;
  --calls_left;
  call_is_due = true;
  // Waits for a limited time: the other thread may need a lock that this thread holds.
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (call_is_due && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

class QueueInterleaving : public NotificationTest {
 protected:
  /// Adds to the first element of the last rank, until `ended`. Returns how often.
  long add_when_due(Window const& window, std::atomic<bool> const& ended) const {
    long const one = 1;
    for (long calls = 0;;) {
      if (call_is_due) {
        EXPECT_EQ(MPI_Accumulate(&one, 1, MPI_LONG, last_, window.at(last_, 0), 1, MPI_LONG, MPI_SUM, window),
                  MPI_SUCCESS);
        ++calls;
        call_is_due = false;
      } else if (ended) {
        return calls;
      } else {
        std::this_thread::yield();
      }
    }
  }

  /// A call that will fail waits in the queue; a flush waits for the call and reports its failure. Returns
  /// the number of calls that another thread has made during the flush.
  long flush_beside_calls(Window const& window) const {
    long const value = 1;
    long calls = 0;
    std::atomic<bool> ended{false};
    EXPECT_EQ(MPI_Win_lock_all(0, window), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Put_notify(&value, 1, MPI_LONG, last_, window.at(last_, 8), 1, MPI_LONG, 7, window),
              MPI_SUCCESS);
    std::thread other([&] { calls = add_when_due(window, ended); });
    send_signal(last_);
    calls_left = 100;
    before_lock = let_other_thread_call;
    int const code = MPI_Win_flush(last_, window);
    before_lock = nullptr;
    ended = true;
    other.join();
    EXPECT_EQ(class_of(code), no_such_counter());
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
    return calls;
  }

  int last_ = size_ - 1;
};
MPIX_ON_EACH_FLAVOUR(QueueInterleaving);

TEST_P(QueueInterleaving, FailureLeavesNoCallInTheQueue) {
  // In a window of shared memory, MPI_Win_lock_all itself acquires the locks.
  if (size_ == 1 || GetParam() == Flavour::shared) return;
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  for (int round = 0; round < 20; ++round) {
    if (rank_ == last_) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last_, 0, window);
    MPI_Barrier(world);
    long calls = rank_ == 0 ? flush_beside_calls(window) : 0;
    if (rank_ == last_) {
      await_signal(0);
      MPI_Win_unlock(last_, window);
    }
    MPI_Bcast(&calls, 1, MPI_LONG, 0, world);
    if (rank_ == last_) {
      EXPECT_EQ(*window.base<long>(), calls) << "round " << round;
      *window.base<long>() = 0;
    }
  }
}

}  // namespace
}  // namespace mpixrma::test
