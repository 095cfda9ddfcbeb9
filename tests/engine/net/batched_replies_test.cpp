/// Replies to the gets of a batch: small ones share messages, also those whose data is read from the target's
/// memory when they are sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "tests/engine/net/batching.hpp"
#include "tests/engine/net/blocked_target.hpp"

namespace mpixrma::engine {
namespace {

class BatchedReplies : public Batching {};
INSTANTIATE_TEST_SUITE_P(Sizes, BatchedReplies, batch_cases, name_of_case);

TEST_P(BatchedReplies, GetsOfDifferentSizesReturnTheirData) {
  constexpr std::array<std::size_t, 6> sizes = {8,      12'288, 9'000,
                                                29'000, 24,     40'000};  // within the first credit
  constexpr std::size_t most = 5'100;                                     // elements
  run_job(2, configure, [&](Rank& rank) {
    BlockedTarget const blocked(rank);
    if (rank.rank() == 1)
      for (std::size_t i = 0; i < most; ++i) blocked.here()[blocked.free + i] = static_cast<std::int64_t>(i);
    rank.barrier();
    if (rank.rank() == 0) {
      blocked.block();
      std::vector<std::vector<std::int64_t>> got;
      std::deque<Waiter> waiters;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto& data = got.emplace_back(sizes[i] / 8, -1);
        RmaOp get = contiguous(OpKind::get, data.data(), blocked.there(blocked.free + i), sizes[i]);
        get.completion = &waiters.emplace_back();
        EXPECT_FALSE(blocked.engine().issue(blocked.target(), get).complete);
      }
      if (GetParam().bytes == 0) {
        EXPECT_EQ(blocked.in_batches(), sizes.size());
      }
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        blocked.engine().waits.until(blocked.target(), [&] { return waiters[i].complete.load(); });
        EXPECT_EQ(waiters[i].status, Status::ok);
        EXPECT_EQ(got[i].front(), static_cast<std::int64_t>(i));
        EXPECT_EQ(got[i].back(), static_cast<std::int64_t>(i + sizes[i] / 8 - 1));
        EXPECT_TRUE(std::is_sorted(got[i].begin(), got[i].end()));
      }
      blocked.complete();
    } else {
      blocked.hold_until_complete();
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
