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
    Stage const stage(rank);
    constexpr std::int64_t puts = 12;
    if (rank.rank() == 0) {
      stage.put(stage.free, 7);
      stage.engine().order.complete(stage.target(), UINT64_MAX);
      EXPECT_EQ(stage.in_batches(), 0u);
      stage.block();
      for (std::int64_t i = 0; i < puts; ++i)
        stage.put(stage.free + 1 + static_cast<std::size_t>(i), 100 + i);
      EXPECT_EQ(stage.in_batches(), batches() ? static_cast<std::uint64_t>(puts) : 0u);
      rank.tell(stage_slot, issued);
    } else {
      constexpr int a_while = 200;  // milliseconds
      stage.hold([&] { EXPECT_EQ(stage.becomes(stage.free + puts, 100 + puts - 1, a_while), !batches()); },
                 issued);
      // The origin does not call the engine: its agent sends when nothing is in flight any more.
      for (std::int64_t i = 0; i < puts; ++i)
        EXPECT_TRUE(stage.becomes(stage.free + 1 + static_cast<std::size_t>(i), 100 + i));
      rank.tell(stage_slot, seen);
    }
    if (rank.rank() == 0) {
      EXPECT_TRUE(rank.wait_for_value(1, stage_slot, seen));
    }
    rank.barrier();
  });
}

TEST_P(Batching, SendsBatchWithLateAcknowledgementAtOnce) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    constexpr std::size_t last = 40;
    if (rank.rank() == 0) {
      stage.block();
      (void)stage.signal(stage.free);
      EXPECT_EQ(stage.in_batches(), 0u);
      stage.put(stage.free + last, 9);
      (void)stage.signal(stage.free + 1);
      rank.tell(stage_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, stage_slot, seen));
    } else {
      stage.hold(
          [&] {
            EXPECT_TRUE(stage.becomes(stage.free, 1));
            EXPECT_TRUE(stage.becomes(stage.free + 1, 1));
            EXPECT_TRUE(stage.becomes(stage.free + last, 9));
            rank.tell(stage_slot, seen);
          },
          issued);
    }
    rank.barrier();
  });
}

TEST_P(Batching, LateAcknowledgementCanBeWaitedFor) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    constexpr int signals = 300;  // more than one delayed acknowledgement covers
    if (rank.rank() == 0) {
      std::uint64_t sequence = 0;
      for (int i = 1; i <= signals; ++i) {
        sequence = stage.signal(stage.free);
        if (i % 100 != 0) continue;
        stage.engine().order.complete(stage.target(), sequence);
        std::int64_t value = 0;
        EXPECT_EQ(
            run(stage.engine(), stage.target(), contiguous(OpKind::get, &value, stage.there(stage.free), 8)),
            Status::ok);
        EXPECT_EQ(value, i);
      }
    }
    rank.barrier();
  });
}

TEST_P(Batching, SendsFullBatchWhileMessagesAreInFlight) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    // More than fit into a message, within the credit.
    std::size_t const puts = GetParam().bytes == 1024 ? 100 : 4000;
    if (rank.rank() == 0) {
      stage.put(stage.free, 0);
      stage.engine().order.complete(stage.target(), UINT64_MAX);  // the answer contains the credit
      stage.block();
      for (std::size_t i = 0; i < puts; ++i) stage.put(stage.free + i, static_cast<std::int64_t>(i) + 1);
      rank.tell(stage_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, stage_slot, seen));
    } else {
      stage.hold_until_seen();
      EXPECT_TRUE(stage.becomes(stage.free + puts - 1, static_cast<std::int64_t>(puts)));
    }
    rank.barrier();
  });
}

TEST_P(Batching, FenceSendsOpenBatch) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    if (rank.rank() == 0) {
      stage.block();
      stage.put(stage.free, 1);
      stage.engine().order.fence(stage.target(), UINT64_MAX);
      rank.tell(stage_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, stage_slot, seen));
    } else {
      stage.hold_until_seen();
    }
    rank.barrier();
  });
}

TEST_P(Batching, WaitForReplyEndsWhileAnotherIsInFlight) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    if (rank.rank() == 0) {
      stage.block();
      stage.put(stage.free, 5);
      constexpr std::size_t gets = 20;
      std::int64_t got[gets] = {};
      std::deque<Waiter> waiters;
      for (std::int64_t& value : got) {
        RmaOp get = contiguous(OpKind::get, &value, stage.there(stage.free), 8);
        get.completion = &waiters.emplace_back();
        EXPECT_FALSE(stage.engine().issue(stage.target(), get).complete);
      }
      EXPECT_EQ(stage.in_batches(), batches() ? gets + 1 : 0u);
      for (Waiter const& waiter : waiters) {
        stage.engine().waits.until(stage.target(), [&] { return waiter.complete.load(); });
        EXPECT_EQ(waiter.status, Status::ok);
      }
      rank.tell(stage_slot, issued);
      stage.engine().order.complete(stage.target(), UINT64_MAX);
      rank.tell(stage_slot, seen);
    } else {
      stage.hold([] {}, issued);
      EXPECT_TRUE(rank.wait_for_value(0, stage_slot, seen));
    }
    rank.barrier();
  });
}

TEST_P(Batching, AtomicOperationIsNotDelayedByBatch) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    if (rank.rank() == 0) {
      stage.block();
      stage.put(stage.free, 1);
      std::int64_t value = 2;
      RmaOp atomic = contiguous(OpKind::put, &value, stage.there(stage.free + 1), 8);
      atomic.guarantees = Guarantee::atomic;
      Waiter waiter;
      atomic.completion = &waiter;
      EXPECT_EQ(stage.engine().issue(stage.target(), atomic).status, Status::ok);
      rank.tell(stage_slot, issued);
      EXPECT_TRUE(rank.wait_for_value(1, stage_slot, seen));
      stage.engine().order.complete(stage.target(), UINT64_MAX);
      EXPECT_TRUE(waiter.complete.load());
    } else {
      stage.hold(
          [&] {
            EXPECT_TRUE(stage.becomes(stage.free + 1, 2));
            EXPECT_TRUE(stage.becomes(stage.free, 1)) << "it was issued before";
            rank.tell(stage_slot, seen);
          },
          issued);
    }
    rank.barrier();
  });
}

TEST_P(Batching, OperationAfterReleasedLockArrives) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    constexpr LockId lock = 0;
    LockId first = 0;
    if (rank.rank() == 1) {
      ASSERT_EQ(stage.engine().locks.create(1, &first), Status::ok);
      ASSERT_EQ(first, lock);
    }
    rank.barrier();
    for (std::int64_t round = 1; round <= 20; ++round) {
      if (rank.rank() == 0) {
        Waiter waiter;
        ASSERT_EQ(stage.engine()
                      .locks.acquire(stage.target(), {lock, LockMode::exclusive, 0, false, &waiter})
                      .status,
                  Status::ok);
        stage.engine().waits.until(stage.target(), [&] { return waiter.complete.load(); });
        // The target acknowledges the release on request only.
        ASSERT_EQ(stage.engine().locks.release(stage.target(), lock, 0).status, Status::ok);
        stage.put(stage.free, round);
        EXPECT_TRUE(rank.wait_for_value(1, stage_slot, static_cast<std::uint64_t>(round)));
      } else {
        EXPECT_TRUE(stage.becomes(stage.free, round));
        rank.tell(stage_slot, static_cast<std::uint64_t>(round));
      }
    }
    rank.barrier();
  });
}

TEST_P(Batching, EachOperationHasItsOwnError) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
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
          RemoteAddress const at = is_bad(i) ? 4096 : stage.there(stage.free + i);
          RmaOp transfer = contiguous(get ? OpKind::get : OpKind::put, &values[i], at, 8);
          transfer.guarantees = Guarantee::remote_completion;
          transfer.completion = &waiters.emplace_back();
          EXPECT_FALSE(stage.engine().issue(stage.target(), transfer).complete);
          transfer.kind = OpKind::put;
          transfer.context = static_cast<std::uint32_t>(i + 1);
          transfer.guarantees = Guarantee::none;
          transfer.completion = nullptr;
          EXPECT_TRUE(stage.engine().issue(stage.target(), transfer).complete);
        }
        stage.engine().order.complete(stage.target(), UINT64_MAX);
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_TRUE(waiters[i].complete.load());
          EXPECT_EQ(waiters[i].status, is_bad(i) ? Status::bad_address : Status::ok) << i;
          Status const late = stage.engine().failures.take(stage.target(), static_cast<std::uint32_t>(i + 1));
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
  Guarantee guarantees;
  std::size_t elements;  ///< of each operation
};

/// Issues puts or sums to random elements, each under a context of its own; some have an invalid address.
/// Compares the target's memory with a model.
void run_stream(Rank& rank, Stage const& stage, StreamCase const& what, std::mt19937_64& random) {
  constexpr std::size_t cells = 512;
  constexpr int operations = 3000;
  std::vector<std::int64_t> model(cells);
  std::size_t const bytes = what.elements * 8;
  RmaOp get = contiguous(OpKind::get, model.data(), stage.there(stage.free), cells * 8);
  EXPECT_EQ(run(stage.engine(), stage.target(), get), Status::ok);
  constexpr std::uint32_t bad_context = 77;
  bool any_bad = false;
  for (int i = 0; i < operations; ++i) {
    std::int64_t values[8];
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 1000);
    std::size_t const cell = random() % (cells - what.elements);
    bool const bad = random() % 100 == 0;
    any_bad = any_bad || bad;
    RemoteAddress const at = bad ? 4096 : stage.there(stage.free + cell);
    RmaOp operation = what.kind == OpKind::put
                          ? contiguous(OpKind::put, values, at, bytes)
                          : contiguous(ReduceOp::sum, ElementType::int64, values, at, bytes);
    operation.guarantees = what.guarantees | Guarantee::ordered;
    operation.context = random() % 50 == 0 ? bad_context + 1 : bad_context;
    EXPECT_TRUE(stage.engine().issue(stage.target(), operation).complete);
    for (std::size_t e = 0; e < what.elements && !bad; ++e) {
      std::int64_t& expected = model[cell + e];
      expected = what.kind == OpKind::put ? values[e] : expected + values[e];
    }
  }
  stage.engine().order.complete(stage.target(), UINT64_MAX);
  std::vector<std::int64_t> found(cells);
  get = contiguous(OpKind::get, found.data(), stage.there(stage.free), cells * 8);
  EXPECT_EQ(run(stage.engine(), stage.target(), get), Status::ok);
  EXPECT_EQ(found, model) << rank.rank();
  Status const first = stage.engine().failures.take(stage.target(), bad_context);
  Status const second = stage.engine().failures.take(stage.target(), bad_context + 1);
  EXPECT_EQ(failed(first) || failed(second), any_bad);
}

TEST_P(Batching, StreamsOfOneKindMatchModel) {
  std::uint64_t const seed = test::seed();
  run_job(2, configure, [seed](Rank& rank) {
    Stage const stage(rank);
    std::mt19937_64 random(seed);
    if (rank.rank() == 0) {
      for (OpKind const kind : {OpKind::put, OpKind::update}) {
        for (std::size_t const elements : {1, 8}) {
          run_stream(rank, stage, {kind, Guarantee::none, elements}, random);
          run_stream(rank, stage, {kind, Guarantee::element_atomic, elements}, random);
          run_stream(rank, stage, {kind, Guarantee::element_atomic | Guarantee::keeps_arrays, elements},
                     random);
        }
      }
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
