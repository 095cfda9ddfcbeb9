/// Processes that are killed or stopped: their peers detect it and continue.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/fault/mortal_target.hpp"
#include "tests/fault/other_host.hpp"
#include "tests/fault/own_process.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/slowness.hpp"
#include "tests/support/stopped.hpp"

namespace mpixrma::engine {
namespace {

using test::JobKind;
using test::resident_kib;

struct Setting {
  char const* name;
  unsigned paths;
  bool other_hosts;
};

class Fault : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (GetParam().other_hosts && !test::may_enter_other_host()) GTEST_SKIP() << "no right to unshare()";
  }
  static void configure(mpix_engine_config& config) {
    config.protocols = GetParam().paths;
    config.network_without_hardware = (config.protocols & MPIX_ENGINE_PROTOCOL_NETWORK) != 0 ? 1 : 0;
    config.fragment_bytes = 4096;
    if (GetParam().other_hosts && !test::enter_other_host()) ::_exit(3);
  }
  static void run_mortal(int ranks, std::function<void(Rank&)> const& body) {
    run_job(ranks, configure, body, JobKind::mortal);
  }
  /// Repeats `operation` until it fails. Returns its failure, or ok if it never fails.
  static Status first_failure(Rank& rank, int peer, RmaOp const& operation) {
    for (int i = 0; i < 20000; ++i) {
      Status const status = run(rank.engine(), rank.peer(peer), operation);
      if (failed(status)) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Status::ok;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Settings, Fault,
    ::testing::Values(Setting{"same_host", MPIX_ENGINE_PROTOCOL_ALL & ~MPIX_ENGINE_PROTOCOL_NETWORK, false},
                      Setting{"message", MPIX_ENGINE_PROTOCOL_MESSAGE, false},
                      Setting{"network", MPIX_ENGINE_PROTOCOL_NETWORK, false},
                      Setting{"other_host", MPIX_ENGINE_PROTOCOL_ALL & ~MPIX_ENGINE_PROTOCOL_NETWORK, true},
                      Setting{"other_host_network", MPIX_ENGINE_PROTOCOL_ALL, true}),
    [](auto const& instance) { return instance.param.name; });

std::ptrdiff_t open_descriptors() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

/// The end of a process without a connection to the origin is noticed by the first operation only.
TEST_P(Fault, OperationsToAnEndedProcessWithoutAConnectionFail) {
  run_mortal(3, [](Rank& rank) {
    std::int64_t memory = 0;
    rank.publish(0, &memory);
    rank.signal(2, 1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rank.wait_for_value(i, 2, 1));
    if (rank.rank() == 1) rank.die();
    if (rank.rank() == 2) {
      EXPECT_TRUE(rank.wait_for_value(0, 2, 2));
      return;
    }
    ::usleep(300000);
    std::int64_t value = 7;
    RmaOp const put = contiguous(OpKind::put, &value, rank.published(1, 0), sizeof value);
    EXPECT_TRUE(failed(first_failure(rank, 1, put)));
    std::ptrdiff_t const before = open_descriptors();
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(failed(run(rank.engine(), rank.peer(1), put)));
    EXPECT_LE(open_descriptors(), before + 2);
    EXPECT_EQ(run(rank.engine(), rank.peer(2), contiguous(OpKind::put, &value, rank.published(2, 0), 8)),
              Status::ok);
    rank.signal(2, 2);
  });
}

TEST_P(Fault, KilledTargetFailsItsOperationsOnly) {
  run_mortal(3, [](Rank& rank) {
    std::vector<std::int64_t> memory(100000, 0);
    void* allocated = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(4096, &allocated), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, allocated);
    rank.signal(2, 1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rank.wait_for_value(i, 2, 1));
    std::int64_t value = 7;
    if (rank.rank() == 1) {
      // In the middle of rank 0's messages.
      while (memory[0] == 0) ::usleep(100);
      rank.die();
    }
    if (rank.rank() == 0) {
      std::vector<std::int64_t> many(100000, 1);
      RmaOp stream =
          contiguous(ReduceOp::sum, ElementType::int64, many.data(), rank.published(1, 0), many.size() * 8);
      stream.flags = OpFlags::atomic;
      for (int i = 0; i < 50; ++i) (void)rank.engine().issue(rank.peer(1), stream);
      rank.engine().order.complete(rank.peer(1), UINT64_MAX);
      (void)rank.engine().failures.take(rank.peer(1), 0);
      for (int slot = 0; slot < 2; ++slot) {
        for (OpKind const direction : {OpKind::put, OpKind::get})
          EXPECT_NE(first_failure(rank, 1, contiguous(direction, &value, rank.published(1, slot), 8)),
                    Status::ok);
        std::int64_t before = 0;
        EXPECT_NE(first_failure(rank, 1,
                                contiguous(ReduceOp::sum, ElementType::int64, &value, rank.published(1, slot),
                                           8, &before)),
                  Status::ok);
      }
      // For a process known to be unreachable, the call itself fails at once.
      EXPECT_EQ(run(rank.engine(), rank.peer(1), contiguous(OpKind::put, &value, rank.published(1, 1), 8)),
                Status::unreachable);
      // Its messages may have failed before its end is noticed.
      SegmentInfo info{};
      Status found = Status::ok;
      for (int i = 0; i < 20000 && found == Status::ok; ++i) {
        found = rank.engine().peer_memory.find_segment(rank.peer(1), rank.published(1, 1), &info);
        if (found == Status::ok) ::usleep(1000);
      }
      EXPECT_EQ(found, Status::unreachable);
      rank.engine().order.complete(rank.peer(1), UINT64_MAX);
      EXPECT_EQ(rank.engine().failures.take(rank.peer(1), 0), Status::ok);
      value = 9;
      EXPECT_EQ(run(rank.engine(), rank.peer(2), contiguous(OpKind::put, &value, rank.published(2, 0), 8)),
                Status::ok);
      rank.signal(3, 1);
    } else if (rank.rank() == 2) {
      ASSERT_TRUE(rank.wait_for_value(0, 3, 1));
      EXPECT_EQ(memory[0], 9);
    }
    EXPECT_EQ(rank.engine().memory.free(allocated), Status::ok);
    if (rank.rank() == 2) rank.signal(4, 1);
    ASSERT_TRUE(rank.wait_for_value(2, 4, 1));
  });
}

TEST_P(Fault, KilledTargetFailsLargeTransfersInFlight) {
  run_mortal(2, [](Rank& rank) {
    constexpr std::size_t bytes = 1 << 20;
    std::vector<std::byte> memory(bytes);
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), bytes), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, static_cast<std::uint64_t>(::getpid()));
    rank.signal(2, 1);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(rank.wait_for_value(i, 2, 1));
    if (rank.rank() == 1) {
      for (;;) ::pause();
    }
    ASSERT_EQ(
        run(rank.engine(), rank.peer(1), contiguous(OpKind::put, memory.data(), rank.published(1, 0), 8)),
        Status::ok);
    // UCX puts, not messages, which take their place until the key is known.
    if (std::string(GetParam().name) == "network") await_key(rank, 1, rank.published(1, 0));
    auto const target = static_cast<pid_t>(rank.published(1, 1));
    rank.expect_death(1);
    test::stop(target);
    std::vector<Waiter> waiters(32);
    std::size_t under_way = 0;
    for (Waiter& waiter : waiters) {
      RmaOp put = contiguous(OpKind::put, memory.data(), rank.published(1, 0), bytes);
      put.flags = OpFlags::remote_completion;
      put.completion = &waiter;
      Issued const issued = rank.engine().issue(rank.peer(1), put);
      ASSERT_EQ(issued.status, Status::ok);
      if (issued.complete) waiter.complete = true;
      under_way += issued.complete ? 0 : 1;
    }
    ::kill(target, SIGKILL);
    for (Waiter const& waiter : waiters) {
      rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
    }
    std::string const place = GetParam().name;
    if (place == "message" || place == "network") {
      EXPECT_NE(under_way, 0u);
    }
    for (Waiter const& waiter : waiters) {
      EXPECT_TRUE(waiter.status == Status::ok || waiter.status == Status::transport);
    }
    // By the network protocol UCX may write the target's memory itself, without the target (UCX 1.18 does).
    if (under_way != 0 && !(place == "network" && waiters.back().status == Status::ok)) {
      EXPECT_EQ(waiters.back().status, Status::transport);
    }
    rank.engine().order.complete(rank.peer(1), UINT64_MAX);
  });
}

TEST_P(Fault, MemoryIsReleasedAfterItsUsersWereKilled) {
  run_mortal(3, [](Rank& rank) {
    std::vector<std::int64_t> memory(1000, 0);
    void* allocated = nullptr;
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), memory.size() * 8), Status::ok);
    ASSERT_EQ(rank.engine().memory.allocate(4096, &allocated), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, allocated);
    rank.signal(2, 1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rank.wait_for_value(i, 2, 1));
    if (rank.rank() != 0) {
      std::int64_t value = rank.rank();
      for (int slot = 0; slot < 2; ++slot) {
        ASSERT_EQ(
            run(rank.engine(), rank.peer(0), contiguous(OpKind::put, &value, rank.published(0, slot), 8)),
            Status::ok);
      }
      rank.signal(3, 1);
      if (rank.rank() == 1) rank.die();
      ASSERT_TRUE(rank.wait_for_value(0, 4, 1, 40));
    } else {
      ASSERT_TRUE(rank.wait_for_value(1, 3, 1));
      ASSERT_TRUE(rank.wait_for_value(2, 3, 1));
      EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
      EXPECT_EQ(rank.engine().memory.free(allocated), Status::ok);
      rank.signal(4, 1);
    }
  });
}

TEST_P(Fault, LocksOfAKilledOriginAreFree) {
  run_mortal(3, [](Rank& rank) {
    constexpr std::size_t words = 65536;  // many messages under one lock
    std::vector<std::int64_t> memory(words, 0);
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), memory.size() * 8), Status::ok);
    rank.publish(0, memory.data());
    rank.signal(2, 1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rank.wait_for_value(i, 2, 1));
    std::vector<std::int64_t> ones(words, 1);
    RmaOp sum = contiguous(ReduceOp::sum, ElementType::int64, ones.data(), rank.published(0, 0), words * 8);
    sum.flags = OpFlags::atomic;
    if (rank.rank() == 1) {
      // UCX 1.13 aborts at the other side if a process ends while its first connection is being established.
      EXPECT_EQ(run(rank.engine(), rank.peer(0), sum), Status::ok);
      for (int i = 0; i < 200; ++i) {
        (void)rank.engine().issue(rank.peer(0), sum);
        if (i == 20) rank.signal(3, 1);
        if (i == 60) rank.die();
      }
    } else if (rank.rank() == 2) {
      ASSERT_TRUE(rank.wait_for_value(1, 3, 1));
      for (int i = 0; i < 20; ++i) EXPECT_EQ(run(rank.engine(), rank.peer(0), sum), Status::ok);
      rank.signal(4, 1);
    } else {
      ASSERT_TRUE(rank.wait_for_value(2, 4, 1, 40));
      EXPECT_GE(memory[0], 20);
      EXPECT_GE(memory[words - 1], 20);
    }
    ASSERT_TRUE(rank.wait_for_value(2, 4, 1, 40));
  });
}

TEST_P(Fault, FloodToStoppedTargetUsesBoundedMemoryAndArrives) {
  run_mortal(2, [](Rank& rank) {
    constexpr std::size_t puts = test::sanitized ? 25000 : 100000;
    std::vector<std::uint32_t> memory(puts, 0);
    rank.publish(0, memory.data());
    rank.publish(1, static_cast<std::uint64_t>(::getpid()));
    rank.signal(2, 1);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(rank.wait_for_value(i, 2, 1));
    if (rank.rank() == 0) {
      // Puts that are messages wait for the target; most other protocols do not need the target's CPU.
      std::vector<std::uint32_t> values(puts);
      for (std::size_t i = 0; i < puts; ++i) values[i] = static_cast<std::uint32_t>(i + 1);
      RmaOp first = contiguous(OpKind::put, values.data(), rank.published(1, 0), 4);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), first), Status::ok);
      auto const target = static_cast<pid_t>(rank.published(1, 1));
      std::int64_t const before = resident_kib();
      test::stop(target);
      std::thread helper([target] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        ::kill(target, SIGCONT);
      });
      std::int64_t most = 0;
      for (std::size_t i = 0; i < puts; ++i) {
        RmaOp const put = contiguous(OpKind::put, &values[i], rank.published(1, 0) + i * 4, 4);
        ASSERT_EQ(rank.engine().issue(rank.peer(1), put).status, Status::ok);
        if (i % 1000 == 0) most = std::max(most, resident_kib());
      }
      rank.engine().order.complete(rank.peer(1), UINT64_MAX);
      helper.join();
      EXPECT_EQ(rank.engine().failures.take(rank.peer(1), 0), Status::ok);
      // Sanitizers keep freed memory, and allocate shadow memory.
      if (!test::sanitized) {
        EXPECT_LT(most - before, 24 * 1024) << "KiB";
      }
      rank.signal(3, 1);
    } else {
      ASSERT_TRUE(rank.wait_for_value(0, 3, 1, 60));
      for (std::size_t i = 0; i < puts; ++i) ASSERT_EQ(memory[i], i + 1);
      rank.signal(3, 1);
    }
    ASSERT_TRUE(rank.wait_for_value(1, 3, 1, 60));
  });
}

/// A put has left this process, and nothing has shown that it has arrived. If the target ends, the put is
/// reported as failed, even if no call for its context follows.
TEST_P(Fault, PutsToAKilledTargetAreReportedOnce) {
  run_mortal(2, [](Rank& rank) {
    if (GetParam().name == std::string("same_host")) return;  // stores need no living target
    std::uint64_t* memory = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(4096, reinterpret_cast<void**>(&memory)), Status::ok);
    pid_t const target = test::start_mortal_target(rank, memory);
    if (target == 0) return;
    std::uint64_t value = 1;
    RmaOp put = contiguous(OpKind::put, &value, rank.published(1, 0), sizeof value);
    // Until the key has arrived, puts are messages.
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      ::usleep(5000);
    }
    test::stop(target);
    put.context = 1;
    ASSERT_EQ(rank.engine().issue(rank.peer(1), put).status, Status::ok);
    put.context = 2;
    ASSERT_EQ(rank.engine().issue(rank.peer(1), put).status, Status::ok);
    ::kill(target, SIGKILL);
    rank.engine().order.complete(rank.peer(1), UINT64_MAX);
    rank.engine().order.complete_local(rank.peer(1), UINT64_MAX);
    EXPECT_EQ(rank.engine().failures.take(rank.peer(1), 1), Status::transport);
    EXPECT_EQ(rank.engine().failures.take(rank.peer(1), 1), Status::ok);
    EXPECT_EQ(rank.engine().complete_everything().all.count, 1u);
    EXPECT_EQ(rank.engine().complete_everything().all.count, 0u);
  });
}

/// No call waits for the signal, and a request for its acknowledgement is no operation that could be lost.
TEST_P(Fault, EndOfTargetOfSignalsIsNotReported) {
  run_mortal(2, [](Rank& rank) {
    std::uint64_t memory[2] = {};
    pid_t const target = test::start_mortal_target(rank, memory);
    if (target == 0) return;
    std::uint64_t const value = 1;
    RmaOp const put = contiguous(OpKind::put, const_cast<std::uint64_t*>(&value), rank.published(1, 0), 8);
    // The second put follows the query for a key that the first one has sent: nothing is in flight
    // afterwards.
    for (int i = 0; i < 2; ++i) ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
    test::stop(target);
    RmaOp raise = contiguous(ReduceOp::increment, ElementType::uint64, nullptr, rank.published(1, 0) + 8, 8);
    raise.flags = OpFlags::element_atomic | OpFlags::delayed_ack;
    ::testing::internal::CaptureStderr();
    ASSERT_EQ(rank.engine().issue(rank.peer(1), raise).status, Status::ok);
    std::thread helper([target] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      ::kill(target, SIGKILL);
    });
    rank.engine().order.complete(rank.peer(1), UINT64_MAX);
    helper.join();
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  });
}

}  // namespace
}  // namespace mpixrma::engine
