/// Batches with operations that hold stripes of the origin until they are executed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/engine/net/batching.hpp"
#include "tests/engine/net/blocked_target.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::int64_t max_rounds = 20000;

class AtomicBatches : public Batching {};

INSTANTIATE_TEST_SUITE_P(Sizes, AtomicBatches, batch_cases, name_of_case);

TEST_P(AtomicBatches, AtomicOperationIsNotDelayedByBatch) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    if (rank.rank() == 0) {
      blocked.block();
      blocked.put(blocked.free, 1);
      std::int64_t value = 2;
      RmaOp atomic = contiguous(OpKind::put, &value, blocked.there(blocked.free + 1), 8);
      atomic.flags = OpFlags::atomic;
      Waiter waiter;
      atomic.completion = &waiter;
      EXPECT_EQ(blocked.engine().issue(blocked.target(), atomic).status, Status::ok);
      rank.signal(phase_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, seen));
      blocked.engine().order.complete(blocked.target(), UINT64_MAX);
      EXPECT_TRUE(waiter.complete.load());
    } else {
      blocked.hold(
          [&] {
            EXPECT_TRUE(blocked.becomes(blocked.free + 1, 2));
            EXPECT_TRUE(blocked.becomes(blocked.free, 1)) << "it was issued before";
            rank.signal(phase_slot, seen);
          },
          issued);
    }
    rank.barrier();
  });
}

/// At rank 0: issues atomic puts of round numbers to the elements from `free` on, and completes them, until
/// those behind the first one have shared messages, which happens if the agent is awake. Returns the number
/// of rounds.
std::int64_t share_messages(BlockedTarget const& blocked, std::size_t puts, bool batches) {
  std::vector<std::int64_t> values(puts);
  std::int64_t round = 0;
  for (std::uint64_t shared = 0; shared + 1 < puts && round < max_rounds; ++round) {
    std::uint64_t const before = blocked.in_batches();
    std::ranges::fill(values, round);
    for (std::size_t i = 0; i < puts; ++i) {
      RmaOp put = contiguous(OpKind::put, &values[i], blocked.there(blocked.free + i), 8);
      put.flags = OpFlags::atomic;
      EXPECT_EQ(blocked.engine().issue(blocked.target(), put).status, Status::ok);
    }
    blocked.engine().order.complete(blocked.target(), UINT64_MAX);
    shared = blocked.in_batches() - before;
    if (!batches) break;
  }
  return round;
}

TEST_P(AtomicBatches, AtomicOperationsShareMessages) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    constexpr std::size_t puts = 12;
    constexpr int rounds_slot = 2;
    if (rank.rank() == 0) {
      std::int64_t const rounds = share_messages(blocked, puts, batches());
      EXPECT_LT(rounds, max_rounds);
      EXPECT_EQ(blocked.in_batches() != 0, batches());
      rank.publish(rounds_slot, static_cast<std::uint64_t>(rounds));
    }
    rank.barrier();
    if (rank.rank() == 1) {
      auto const last = static_cast<std::int64_t>(rank.published(0, rounds_slot)) - (batches() ? 1 : 0);
      for (std::size_t i = 0; i < puts; ++i) EXPECT_EQ(blocked.element(blocked.free + i), last);
    }
    rank.barrier();
  });
}

/// Two processes put into each other's memory, with stripes of their own held in batches, and sum into it
/// without ATOMICITY; the agents of both send what their threads leave.
TEST_P(AtomicBatches, CrossingStreamsOfAtomicOperationsEnd) {
  run_job(2, messages, [](Rank& rank) {
    constexpr std::int64_t rounds = 300;
    std::vector<std::int64_t> memory(3 * stripe / 8);
    rank.publish(memory_slot, memory.data());
    rank.barrier();
    Peer& other = rank.peer(1 - rank.rank());
    RemoteAddress const there = rank.published(1 - rank.rank(), memory_slot);
    std::mt19937_64 random(test::seed() + static_cast<unsigned>(rank.rank()));
    std::vector<double> const ones(2, 1.0);
    std::int64_t summed = 0;
    for (std::int64_t round = 0; round < rounds; ++round) {
      std::size_t const at = random() % 64;
      RmaOp operation = contiguous(OpKind::put, &memory[stripe / 8 + at], there + stripe + 8 * at, 8);
      operation.flags = OpFlags::atomic;
      switch (random() % 4) {
        case 0: break;
        case 1: operation.kind = OpKind::get; break;
        default:
          operation = contiguous(ReduceOp::sum, ElementType::float64, ones.data(), there, 16);
          ++summed;
      }
      ASSERT_EQ(rank.engine().issue(other, operation).status, Status::ok);
      if (random() % 32 == 0) ::usleep(1000);  // without a call of the engine
      if (random() % 64 == 0) rank.engine().order.complete(other, UINT64_MAX);
    }
    rank.engine().order.complete(other, UINT64_MAX);
    EXPECT_EQ(rank.engine().failures.take(other, 0), Status::ok);
    rank.publish(phase_slot, static_cast<std::uint64_t>(summed));
    rank.barrier();
    auto const* const sums = reinterpret_cast<double const*>(memory.data());
    EXPECT_EQ(sums[0], static_cast<double>(rank.published(1 - rank.rank(), phase_slot)));
    EXPECT_EQ(sums[1], sums[0]);
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
