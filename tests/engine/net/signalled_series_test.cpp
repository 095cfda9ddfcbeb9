/// A series of small operations that ends with a signal: one message, whose acknowledgement is delayed.
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/origin/peer_state.hpp"
#include "engine/runtime/blocking_completion.hpp"
#include "tests/engine/net/batching.hpp"
#include "tests/engine/net/blocked_target.hpp"

namespace mpixrma::engine {
namespace {

class SignalledSeries : public Batching {
 protected:
  static constexpr std::size_t puts = 3;

  /// At rank 0: puts `value` and raises a counter behind the puts, as the end of an access epoch does.
  static void send(BlockedTarget const& blocked, std::int64_t value) {
    for (std::size_t i = 0; i < puts; ++i) blocked.put(blocked.free + i, value);
    blocked.engine().order.fence(blocked.target(), UINT64_MAX, OpenBatch::kept);
    (void)blocked.signal(blocked.free + puts);
  }
  static std::uint64_t executed(BlockedTarget const& blocked) {
    return blocked.target().state().messages.executed.load();
  }
};

INSTANTIATE_TEST_SUITE_P(Sizes, SignalledSeries, batch_cases, name_of_case);

TEST_P(SignalledSeries, BecomesOneMessageThatIsNotAcknowledgedAtOnce) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    int rounds = 0;
    if (rank.rank() == 0) {
      // Whole series are predicted after a few, if the agent is awake.
      int const most = batches() ? 20000 : 50;
      bool whole = false;
      while (!whole && rounds < most) {
        std::uint64_t const before = blocked.in_batches();
        send(blocked, ++rounds);
        whole = blocked.in_batches() == before + puts + 1;
        if (!whole) blocked.engine().order.complete(blocked.target(), UINT64_MAX);
      }
      EXPECT_EQ(whole, batches());
      rank.publish(phase_slot, static_cast<std::uint64_t>(rounds));
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, static_cast<std::uint64_t>(rounds)));
      ::usleep(50000);
      std::uint64_t const newest = EngineOrder::newest(blocked.target());
      // The agent may have sent a part of the series before the signal.
      EXPECT_TRUE(whole ? executed(blocked) < newest : executed(blocked) == newest);
      blocked.engine().order.complete(blocked.target(), newest);
      EXPECT_GE(executed(blocked), newest);
    } else {
      while (rounds == 0) rounds = static_cast<int>(rank.published(0, phase_slot));
      EXPECT_TRUE(blocked.becomes(blocked.free + puts, rounds));
      for (std::size_t i = 0; i < puts; ++i) EXPECT_EQ(blocked.element(blocked.free + i), rounds);
      rank.signal(phase_slot, static_cast<std::uint64_t>(rounds));
    }
    rank.barrier();
  });
}

/// A thread that waits for an operation with a completion of its own gets the acknowledgement.
TEST_P(SignalledSeries, IsAcknowledgedForAnOperationThatWaits) {
  run_job(2, configure, [](Rank& rank) {
    BlockedTarget const blocked(rank);
    for (std::int64_t round = 1; rank.rank() == 0 && round <= 200; ++round) {
      BlockingCompletion remote;
      std::int64_t const value = round;
      RmaOp put = contiguous(OpKind::put, const_cast<std::int64_t*>(&value), blocked.there(blocked.free), 8);
      put.flags = OpFlags::remote_completion;
      put.completion = &remote;
      Issued const issued = blocked.engine().issue(blocked.target(), put);
      ASSERT_EQ(issued.status, Status::ok);
      send(blocked, round);
      if (!issued.complete) {
        blocked.engine().waits.until([&] { return remote.is_done.load(); });
        EXPECT_EQ(remote.status, Status::ok);
      }
    }
    rank.barrier();
    EXPECT_TRUE(rank.rank() == 0 || blocked.element(blocked.free) == 200);
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
