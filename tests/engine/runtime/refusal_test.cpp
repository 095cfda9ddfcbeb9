/// A kernel that starts to deny access to other processes' memory in the middle of an operation.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/engine_paths.hpp"

namespace {
int permitted = 0;          ///< how many more writing calls succeed
std::size_t shortened = 0;  ///< bytes that the last of them moves at most; 0: all
/// Called once, before the first refusal.
std::function<void()> before_refusal;
}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t process_vm_writev(pid_t pid, iovec const* local,
                                                                            unsigned long locals,
                                                                            iovec const* remote,
                                                                            unsigned long remotes,
                                                                            unsigned long flags) noexcept {
  if (permitted-- > 0) {
    iovec first = *local;
    bool const is_short = permitted == 0 && shortened != 0 && shortened < first.iov_len;
    if (is_short) first.iov_len = shortened;
    return ::syscall(SYS_process_vm_writev, pid, is_short ? &first : local, is_short ? 1 : locals, remote,
                     remotes, flags);
  }
  if (before_refusal) std::exchange(before_refusal, nullptr)();
  errno = EPERM;
  return -1;
}

namespace mpixrma::engine {
namespace {

constexpr std::size_t words = 50000;  // several chunks of the kernel's path

void without_ring(mpix_engine_config& config) { config.ring_us = -1; }

/// Adds one to each word, or to every second one.
RmaOp sum_at(Rank& rank, std::vector<std::int64_t> const& ones, std::size_t step, OpFlags flags) {
  RmaOp sum =
      contiguous(ReduceOp::sum, ElementType::int64, ones.data(), rank.published(1, 0), 8 * ones.size());
  sum.flags = flags;
  if (step == 1) return sum;
  static Dimension apart[1];
  apart[0] = {ones.size(), static_cast<std::ptrdiff_t>(8 * step)};
  sum.target_layout = Layout{8, apart, {}};
  return sum;
}

/// Adds 1 `updates` times to each element at rank 1, or to every second one. The kernel permits a limited
/// number of calls of the first update; its result must be the previous values.
void expect_updates_once(OpFlags flags, int updates) {
  for (std::size_t const step : {1, 2}) {
    for (int const calls : {0, 1, 3, 50}) {
      SCOPED_TRACE(testing::Message() << "step " << step << ", calls " << calls);
      test::run_job(2, without_ring, [=](Rank& rank) {
        std::vector<std::int64_t> memory(2 * words);
        std::iota(memory.begin(), memory.end(), 1);
        rank.publish(0, memory.data());
        rank.barrier();
        if (rank.rank() == 0) {
          std::vector<std::int64_t> const ones(words, 1);
          std::vector<std::int64_t> before(words);
          RmaOp sum = sum_at(rank, ones, step, flags);
          sum.result = reinterpret_cast<std::byte*>(before.data());
          permitted = calls;
          EXPECT_EQ(run(rank.engine(), rank.peer(1), sum), Status::ok);
          for (std::size_t i = 0; i < words; ++i)
            ASSERT_EQ(before[i], static_cast<std::int64_t>(step * i) + 1) << i;
          for (int i = 1; i < updates; ++i)
            EXPECT_EQ(run(rank.engine(), rank.peer(1), sum_at(rank, ones, step, flags)), Status::ok);
        }
        rank.barrier();
        if (rank.rank() == 1) {
          for (std::size_t i = 0; i < 2 * words; ++i) {
            bool const is_target = i % step == 0 && i / step < words;
            ASSERT_EQ(memory[i], static_cast<std::int64_t>(i) + 1 + (is_target ? updates : 0)) << i;
          }
        }
        rank.barrier();
      });
    }
  }
}

TEST(Refusal, UpdatesEachElementOnce) { expect_updates_once(OpFlags::none, 1); }

/// The stripes are held when the kernel denies access, and are free for the second update.
TEST(Refusal, FinishesAtomicUpdateByMessages) { expect_updates_once(OpFlags::atomic, 2); }

/// The last call that the kernel permits moves less than it was asked for: what it has moved is not added
/// again.
TEST(Refusal, CountsDataMovedByShortCall) {
  for (OpFlags const flags : {OpFlags::none, OpFlags::atomic}) {
    for (std::size_t const bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{40000}}) {
      test::run_job(2, without_ring, [=](Rank& rank) {
        std::vector<std::int64_t> memory(words, 5);
        rank.publish(0, memory.data());
        rank.barrier();
        if (rank.rank() == 0) {
          std::vector<std::int64_t> const ones(words, 1);
          permitted = 2;
          shortened = bytes;
          EXPECT_EQ(run(rank.engine(), rank.peer(1), sum_at(rank, ones, 1, flags)), Status::ok);
        }
        rank.barrier();
        if (rank.rank() == 1) {
          EXPECT_EQ(std::count(memory.begin(), memory.end(), 6), static_cast<std::ptrdiff_t>(words));
        }
        rank.barrier();
      });
    }
  }
}

/// The last permitted call stops within an element: its value is unknown, so the update cannot be repeated.
TEST(Refusal, ReportsPartlyWrittenElement) {
  test::run_job(2, without_ring, [](Rank& rank) {
    std::vector<std::int64_t> memory(words, 5);
    rank.publish(0, memory.data());
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<std::int64_t> const ones(words, 1);
      permitted = 1;
      shortened = 4092;
      EXPECT_EQ(run(rank.engine(), rank.peer(1), sum_at(rank, ones, 1, OpFlags::atomic)), Status::transport);
      EXPECT_EQ(run(rank.engine(), rank.peer(1), sum_at(rank, ones, 1, OpFlags::atomic)), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(memory[0], 7);
      EXPECT_EQ(memory[words - 1], 6);
    }
    rank.barrier();
  });
}

/// The rest of the update stands in the stream behind tens of thousands of messages that are not executed
/// yet, and is executed before them.
TEST(Refusal, FinishesAtomicUpdateBehindManyMessages) {
  constexpr std::size_t fragment = 256;
  constexpr std::size_t most = 70000;  // messages
  auto const configure = [](mpix_engine_config& config) {
    without_ring(config);
    config.fragment_bytes = fragment;
    config.credit_bytes = 16384;
  };
  test::run_job(2, configure, [](Rank& rank) {
    constexpr std::size_t far_words = most * fragment / 8;
    std::vector<std::int64_t> memory(words + 2 * far_words);
    rank.publish(0, memory.data());
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<std::int64_t> const ones(words, 1);
      std::vector<std::int64_t> const many(far_words, 1);
      permitted = 1;
      before_refusal = [&] {
        RmaOp far = sum_at(rank, many, 2, OpFlags::none);
        far.target += 8 * words;
        EXPECT_FALSE(rank.engine().issue(rank.peer(1), far).complete);
      };
      EXPECT_EQ(run(rank.engine(), rank.peer(1), sum_at(rank, ones, 1, OpFlags::atomic)), Status::ok);
      EXPECT_FALSE(before_refusal) << "the kernel was not asked often enough";
      rank.engine().order.complete(rank.peer(1), EngineOrder::newest(rank.peer(1)));
      EXPECT_EQ(rank.engine().failures.take(rank.peer(1), 0), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      for (std::size_t i = 0; i < memory.size(); ++i)
        ASSERT_EQ(memory[i], i < words || (i - words) % 2 == 0 ? 1 : 0) << i;
    }
    rank.barrier();
  });
}

/// Updates of a peer's even words that are issued while an atomic update holds the stripes, behind a far
/// update that needs none.
struct WaitingUpdates {
  static constexpr std::size_t small = 100;    // words, one message
  static constexpr std::size_t large = 20000;  // several messages, which request the stripes first
  static constexpr std::size_t far_words = 200000;
  static constexpr int small_updates = 1500;  // and one large one

  std::vector<std::int64_t> far = std::vector<std::int64_t>(far_words, 1);
  std::vector<std::int64_t> few = std::vector<std::int64_t>(small, 1);
  std::vector<std::int64_t> many = std::vector<std::int64_t>(large, 1);
  std::vector<Waiter> waiters = std::vector<Waiter>(small_updates + 1);

  void issue(Rank& rank, bool first_is_large) {
    RmaOp far_sum = sum_at(rank, far, 2, OpFlags::none);
    far_sum.target += 8 * 2 * words;
    EXPECT_FALSE(rank.engine().issue(rank.peer(1), far_sum).complete);
    if (first_is_large) increment(rank, many, waiters[small_updates]);
    for (int i = 0; i < small_updates; ++i) increment(rank, few, waiters[static_cast<std::size_t>(i)]);
    if (!first_is_large) increment(rank, many, waiters[small_updates]);
  }
  /// Behind messages in flight these updates do not request the target's stripes at the origin, and without
  /// operands they need no stripes of this process.
  static void increment(Rank& rank, std::vector<std::int64_t> const& from, Waiter& waiter) {
    RmaOp sum =
        sum_at(rank, from, 2, OpFlags::atomic | OpFlags::remote_completion | OpFlags::overlap_ordered);
    sum.reduce_op = ReduceOp::increment;
    sum.origin = nullptr;
    sum.origin_layout = {};
    sum.completion = &waiter;
    EXPECT_EQ(rank.engine().issue(rank.peer(1), sum).status, Status::ok);
  }
  /// Returns the sum in word `i` after one update of `words` words, these updates, and one of the even words.
  static std::int64_t expected(std::size_t i) {
    if (i >= 2 * words) return i % 2 == 0 ? 1 : 0;
    std::int64_t const first = i < words ? 1 : 0;
    if (i % 2 != 0) return first;
    return first + 1 + (i / 2 < small ? small_updates : 0) + (i / 2 < large ? 1 : 0);
  }
};

/// Messages that wait for the held stripes precede those of the rest of the update, and exceed the credit.
TEST(Refusal, FinishesAtomicUpdateBeforeWaitingMessages) {
  auto const configure = [](mpix_engine_config& config) {
    without_ring(config);
    config.fragment_bytes = 4096;
    config.credit_bytes = 16384;
  };
  for (bool const first_is_large : {false, true}) {
    test::run_job(2, configure, [=](Rank& rank) {
      std::vector<std::int64_t> memory(2 * words + 2 * WaitingUpdates::far_words);
      rank.publish(0, memory.data());
      rank.barrier();
      if (rank.rank() == 0) {
        std::vector<std::int64_t> const ones(words, 1);
        WaitingUpdates updates;
        permitted = 3;
        before_refusal = [&] { updates.issue(rank, first_is_large); };
        EXPECT_EQ(run(rank.engine(), rank.peer(1), sum_at(rank, ones, 1, OpFlags::atomic)), Status::ok);
        EXPECT_FALSE(before_refusal) << "the kernel was not asked often enough";
        for (Waiter& waiter : updates.waiters) {
          rank.engine().waits.until(rank.peer(1), [&] { return waiter.complete.load(); });
          ASSERT_EQ(waiter.status, Status::ok);
        }
        // The positions of the stream continue.
        EXPECT_EQ(run(rank.engine(), rank.peer(1), sum_at(rank, ones, 2, OpFlags::none)), Status::ok);
        rank.engine().order.complete(rank.peer(1), EngineOrder::newest(rank.peer(1)));
      }
      rank.barrier();
      if (rank.rank() == 1) {
        for (std::size_t i = 0; i < memory.size(); ++i)
          ASSERT_EQ(memory[i], WaitingUpdates::expected(i)) << i;
      }
      rank.barrier();
    });
  }
}

/// The rest of an atomic put is sent while the stripes are held. Repeating the whole put would expose a
/// partial state.
TEST(Refusal, SendsOnlyTheRestOfAtomicPut) {
  test::run_job(2, without_ring, [](Rank& rank) {
    std::vector<std::int64_t> memory(128 * 1024);
    rank.publish(0, memory.data());
    rank.barrier();
    if (rank.rank() == 0) {
      std::size_t const count = memory.size() / 2;
      std::vector<std::int64_t> values(count);
      std::iota(values.begin(), values.end(), 1);
      RmaOp put = contiguous(OpKind::put, values.data(), rank.published(1, 0), 8 * count);
      Dimension const apart[] = {{count / 128, 2048}};
      put.target_layout = Layout{1024, apart, {}};
      put.origin_layout = Layout::contiguous(put.target_layout.size());
      put.flags = OpFlags::atomic;
      permitted = 1;
      before_refusal = [&] { values[0] = -1; };  // moved by the permitted call: a repeated put would show it
      EXPECT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      EXPECT_EQ(values[0], -1);
      // Counted as one operation, by the protocol that has finished it.
      Traffic const traffic = rank.engine().traffic.statistics().traffic;
      EXPECT_EQ(traffic.operations_by(Protocol::message), 1u);
      EXPECT_EQ(traffic.bytes[static_cast<std::size_t>(Protocol::message)], put.target_layout.size());
    }
    rank.barrier();
    if (rank.rank() == 1) {
      std::size_t const count = memory.size() / 2 / 128 * 128;
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(memory[i / 128 * 256 + i % 128], static_cast<std::int64_t>(i) + 1) << i;
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
