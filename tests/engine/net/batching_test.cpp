/// Batches of small operations to one target: when they are sent, and that results do not change.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "tests/engine/net/batching.hpp"
#include "tests/engine/net/blocked_target.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::engine {
namespace {

INSTANTIATE_TEST_SUITE_P(Sizes, Batching, batch_cases, name_of_case);

TEST_P(Batching, SendsFirstOperationAtOnceAndBatchesLaterOnes) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    constexpr std::int64_t puts = 12;
    if (rank.rank() == 0) {
      blocked.put(blocked.free, 7);
      blocked.engine().order.complete(blocked.target(), UINT64_MAX);
      EXPECT_EQ(blocked.in_batches(), 0u);
      blocked.block();
      for (std::int64_t i = 0; i < puts; ++i)
        blocked.put(blocked.free + 1 + static_cast<std::size_t>(i), 100 + i);
      EXPECT_EQ(blocked.in_batches(), batches() ? static_cast<std::uint64_t>(puts) : 0u);
      rank.signal(phase_slot, issued);
    } else {
      constexpr int a_while = 200;  // milliseconds
      blocked.hold(
          [&] { EXPECT_EQ(blocked.becomes(blocked.free + puts, 100 + puts - 1, a_while), !batches()); },
          issued);
      // The origin does not call the engine: its agent sends when nothing is in flight any more.
      for (std::int64_t i = 0; i < puts; ++i)
        EXPECT_TRUE(blocked.becomes(blocked.free + 1 + static_cast<std::size_t>(i), 100 + i));
      rank.signal(phase_slot, seen);
    }
    if (rank.rank() == 0) {
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, seen));
    }
    rank.barrier();
  });
}

/// At rank 0: issues and completes short series of puts until three whole series have become batches, which
/// happens if the agent is awake. Returns whether it has happened.
bool sends_series_as_batches(BlockedTarget const& blocked, bool expected) {
  constexpr std::size_t puts = 4;
  int const rounds = expected ? 20000 : 50;
  int whole = 0;
  for (int round = 0; round < rounds && whole < 3; ++round) {
    std::uint64_t const before = blocked.in_batches();
    for (std::size_t i = 0; i < puts; ++i) blocked.put(blocked.free + i, round);
    blocked.engine().order.complete(blocked.target(), UINT64_MAX);
    if (blocked.in_batches() == before + puts) ++whole;
  }
  return whole == 3;
}

TEST_P(Batching, SendsSeriesThatIsWaitedForAsOneMessage) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    if (rank.rank() == 0) {
      EXPECT_EQ(sends_series_as_batches(blocked, batches()), batches());
      for (std::size_t i = 0; i < 4; ++i) blocked.put(blocked.free + i, 1000 + static_cast<std::int64_t>(i));
      blocked.engine().order.complete(blocked.target(), UINT64_MAX);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(blocked.element(blocked.free + i), 1000 + static_cast<std::int64_t>(i));
    }
    rank.barrier();
  });
}

TEST_P(Batching, FirstOfSeriesArrivesWithoutOthers) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    constexpr std::size_t alone = 10;
    constexpr std::size_t notifying = 11;
    constexpr std::size_t counter = 12;
    if (rank.rank() == 0) {
      EXPECT_EQ(sends_series_as_batches(blocked, batches()), batches());
      blocked.put(blocked.free + alone, 77);
      rank.signal(phase_slot, issued);
      // The origin does not call the engine: its agent sends the put.
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, seen));
      EXPECT_EQ(sends_series_as_batches(blocked, batches()), batches());
      std::uint64_t const before = blocked.in_batches();
      std::int64_t const value = 78;
      RmaOp put = contiguous(OpKind::put, const_cast<std::int64_t*>(&value),
                             blocked.there(blocked.free + notifying), 8);
      put.notify = blocked.there(blocked.free + counter);
      EXPECT_EQ(blocked.engine().issue(blocked.target(), put).status, Status::ok);
      EXPECT_EQ(blocked.in_batches(), before) << "an operation with a notification waits for others";
      blocked.engine().order.complete(blocked.target(), UINT64_MAX);
    } else {
      EXPECT_TRUE(rank.wait_for_value(0, phase_slot, issued));
      EXPECT_TRUE(blocked.becomes(blocked.free + alone, 77));
      rank.signal(phase_slot, seen);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(blocked.element(blocked.free + notifying), 78);
      EXPECT_EQ(blocked.element(blocked.free + counter), 1);
    }
    rank.barrier();
  });
}

TEST_P(Batching, SendsBatchWithLateAcknowledgementAtOnce) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    constexpr std::size_t last = 40;
    if (rank.rank() == 0) {
      blocked.block();
      (void)blocked.signal(blocked.free);
      EXPECT_EQ(blocked.in_batches(), 0u);
      blocked.put(blocked.free + last, 9);
      (void)blocked.signal(blocked.free + 1);
      rank.signal(phase_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, seen));
    } else {
      blocked.hold(
          [&] {
            EXPECT_TRUE(blocked.becomes(blocked.free, 1));
            EXPECT_TRUE(blocked.becomes(blocked.free + 1, 1));
            EXPECT_TRUE(blocked.becomes(blocked.free + last, 9));
            rank.signal(phase_slot, seen);
          },
          issued);
    }
    rank.barrier();
  });
}

TEST_P(Batching, LateAcknowledgementCanBeWaitedFor) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    constexpr int signals = 300;  // more than one delayed acknowledgement covers
    if (rank.rank() == 0) {
      std::uint64_t sequence = 0;
      for (int i = 1; i <= signals; ++i) {
        sequence = blocked.signal(blocked.free);
        if (i % 100 != 0) continue;
        blocked.engine().order.complete(blocked.target(), sequence);
        std::int64_t value = 0;
        EXPECT_EQ(run(blocked.engine(), blocked.target(),
                      contiguous(OpKind::get, &value, blocked.there(blocked.free), 8)),
                  Status::ok);
        EXPECT_EQ(value, i);
      }
    }
    rank.barrier();
  });
}

TEST_P(Batching, SendsFullBatchWhileMessagesAreInFlight) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    // More than fit into a message, within the credit.
    std::size_t const puts = GetParam().bytes == 1024 ? 100 : 4000;
    if (rank.rank() == 0) {
      blocked.put(blocked.free, 0);
      blocked.engine().order.complete(blocked.target(), UINT64_MAX);  // the reply contains the credit
      blocked.block();
      for (std::size_t i = 0; i < puts; ++i) blocked.put(blocked.free + i, static_cast<std::int64_t>(i) + 1);
      rank.signal(phase_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, seen));
    } else {
      blocked.hold_until_seen();
      EXPECT_TRUE(blocked.becomes(blocked.free + puts - 1, static_cast<std::int64_t>(puts)));
    }
    rank.barrier();
  });
}

TEST_P(Batching, FenceSendsOpenBatch) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    if (rank.rank() == 0) {
      blocked.block();
      blocked.put(blocked.free, 1);
      blocked.engine().order.fence(blocked.target(), UINT64_MAX);
      rank.signal(phase_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, seen));
    } else {
      blocked.hold_until_seen();
    }
    rank.barrier();
  });
}

TEST_P(Batching, WaitForReplyEndsWhileAnotherIsInFlight) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    if (rank.rank() == 0) {
      blocked.block();
      blocked.put(blocked.free, 5);
      constexpr std::size_t gets = 20;
      std::int64_t got[gets] = {};
      std::deque<Waiter> waiters;
      for (std::int64_t& value : got) {
        RmaOp get = contiguous(OpKind::get, &value, blocked.there(blocked.free), 8);
        get.completion = &waiters.emplace_back();
        EXPECT_FALSE(blocked.engine().issue(blocked.target(), get).complete);
      }
      EXPECT_EQ(blocked.in_batches(), batches() ? gets + 1 : 0u);
      for (Waiter const& waiter : waiters) {
        blocked.engine().waits.until(blocked.target(), [&] { return waiter.complete.load(); });
        EXPECT_EQ(waiter.status, Status::ok);
      }
      blocked.complete();
    } else {
      blocked.hold_until_complete();
    }
    rank.barrier();
  });
}

TEST_P(Batching, OperationAfterReleasedLockArrives) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    constexpr LockId lock = 0;
    LockId first = 0;
    if (rank.rank() == 1) {
      ASSERT_EQ(blocked.engine().locks.create(1, &first), Status::ok);
      ASSERT_EQ(first, lock);
    }
    rank.barrier();
    for (std::int64_t round = 1; round <= 20; ++round) {
      if (rank.rank() == 0) {
        Waiter waiter;
        ASSERT_EQ(blocked.engine()
                      .locks.acquire(blocked.target(), {lock, LockMode::exclusive, 0, false, &waiter})
                      .status,
                  Status::ok);
        blocked.engine().waits.until(blocked.target(), [&] { return waiter.complete.load(); });
        // The target acknowledges the release on request only.
        ASSERT_EQ(blocked.engine().locks.release(blocked.target(), lock, 0).status, Status::ok);
        blocked.put(blocked.free, round);
        EXPECT_TRUE(rank.wait_for_value(1, phase_slot, static_cast<std::uint64_t>(round)));
      } else {
        EXPECT_TRUE(blocked.becomes(blocked.free, round));
        rank.signal(phase_slot, static_cast<std::uint64_t>(round));
      }
    }
    rank.barrier();
  });
}

TEST_P(Batching, EachOperationHasItsOwnError) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    if (rank.rank() == 0) {
      constexpr std::size_t count = 30;
      std::int64_t values[count];
      std::deque<Waiter> waiters;
      auto const is_bad = [](std::size_t i) { return i % 3 == 1; };
      std::mt19937_64 random(test::seed());
      for (int round = 0; round < 20; ++round) {
        waiters.clear();
        for (std::size_t i = 0; i < count; ++i) {
          values[i] = static_cast<std::int64_t>(random());
          bool const get = i % 2 == 0;
          RemoteAddress const at = is_bad(i) ? 4096 : blocked.there(blocked.free + i);
          RmaOp transfer = contiguous(get ? OpKind::get : OpKind::put, &values[i], at, 8);
          transfer.flags = OpFlags::remote_completion;
          transfer.completion = &waiters.emplace_back();
          EXPECT_FALSE(blocked.engine().issue(blocked.target(), transfer).complete);
          transfer.kind = OpKind::put;
          transfer.context = static_cast<std::uint32_t>(i + 1);
          transfer.flags = OpFlags::none;
          transfer.completion = nullptr;
          EXPECT_TRUE(blocked.engine().issue(blocked.target(), transfer).complete);
        }
        blocked.engine().order.complete(blocked.target(), UINT64_MAX);
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_TRUE(waiters[i].complete.load());
          EXPECT_EQ(waiters[i].status, is_bad(i) ? Status::bad_address : Status::ok) << i;
          Status const late =
              blocked.engine().failures.take(blocked.target(), static_cast<std::uint32_t>(i + 1));
          EXPECT_EQ(late, is_bad(i) ? Status::bad_address : Status::ok) << i;
        }
      }
    }
    rank.barrier();
  });
}

/// The streams of one kind of operation that run_stream() issues.
struct StreamCase {
  OpKind kind;
  OpFlags flags;
  std::size_t elements;  ///< of each operation
};

/// Issues puts or sums to random elements, each under one of two contexts; some have an invalid address.
/// Compares the target's memory with a model.
void run_stream(Rank& rank, BlockedTarget const& blocked, StreamCase const& what, std::mt19937_64& random) {
  constexpr std::size_t cells = 512;
  constexpr int operations = 3000;
  std::vector<std::int64_t> model(cells);
  std::size_t const bytes = what.elements * 8;
  RmaOp get = contiguous(OpKind::get, model.data(), blocked.there(blocked.free), cells * 8);
  EXPECT_EQ(run(blocked.engine(), blocked.target(), get), Status::ok);
  constexpr std::uint32_t bad_context = 77;
  bool any_bad = false;
  for (int i = 0; i < operations; ++i) {
    std::int64_t values[8];
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 1000);
    std::size_t const cell = random() % (cells - what.elements);
    bool const bad = random() % 100 == 0;
    any_bad = any_bad || bad;
    RemoteAddress const at = bad ? 4096 : blocked.there(blocked.free + cell);
    RmaOp operation = what.kind == OpKind::put
                          ? contiguous(OpKind::put, values, at, bytes)
                          : contiguous(ReduceOp::sum, ElementType::int64, values, at, bytes);
    operation.flags = what.flags | OpFlags::ordered;
    operation.context = random() % 50 == 0 ? bad_context + 1 : bad_context;
    EXPECT_TRUE(blocked.engine().issue(blocked.target(), operation).complete);
    for (std::size_t e = 0; e < what.elements && !bad; ++e) {
      std::int64_t& expected = model[cell + e];
      expected = what.kind == OpKind::put ? values[e] : expected + values[e];
    }
  }
  blocked.engine().order.complete(blocked.target(), UINT64_MAX);
  std::vector<std::int64_t> found(cells);
  get = contiguous(OpKind::get, found.data(), blocked.there(blocked.free), cells * 8);
  EXPECT_EQ(run(blocked.engine(), blocked.target(), get), Status::ok);
  EXPECT_EQ(found, model) << rank.rank();
  Status const first = blocked.engine().failures.take(blocked.target(), bad_context);
  Status const second = blocked.engine().failures.take(blocked.target(), bad_context + 1);
  EXPECT_EQ(failed(first) || failed(second), any_bad);
}

TEST_P(Batching, StreamsOfOneKindMatchModel) {
  std::uint64_t const seed = test::seed();
  run_job(2, configure, [seed](Rank& rank) {
    BlockedTarget const blocked(rank);
    std::mt19937_64 random(seed);
    if (rank.rank() == 0) {
      for (OpKind const kind : {OpKind::put, OpKind::update}) {
        for (std::size_t const elements : {1, 8}) {
          run_stream(rank, blocked, {kind, OpFlags::none, elements}, random);
          run_stream(rank, blocked, {kind, OpFlags::element_atomic, elements}, random);
          run_stream(rank, blocked, {kind, OpFlags::element_atomic | OpFlags::keeps_arrays, elements},
                     random);
        }
      }
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
