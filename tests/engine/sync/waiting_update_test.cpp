/// An update of a single element that stands behind messages, while the stripe is held as by the update of an
/// array.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "engine/sync/stripes.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

/// A put in so many pieces that it goes by messages.
RmaOp scattered_put(std::vector<std::int64_t> const& from, RemoteAddress target) {
  RmaOp put = contiguous(OpKind::put, const_cast<std::int64_t*>(from.data()), target, 8 * from.size());
  static std::array<Dimension, 1> apart;
  apart[0] = {from.size(), 16};
  put.target_layout = Layout{8, apart, {}};
  return put;
}

/// Until the stripe is free, arrays of the granule are updated without the CPU's atomics, and an atomic
/// update of the element would be lost among them.
TEST(WaitingUpdate, SwitchesGranuleOnlyWithItsStripe) {
  auto const configure = [](mpix_engine_config& config) { config.ring_us = -1; };
  test::run_job(2, configure, [](Rank& rank) {
    constexpr std::size_t pieces = 1000;
    std::vector<std::int64_t> memory(4 * pieces, 5);
    rank.publish(0, memory.data());
    rank.barrier();
    if (rank.rank() == 1) {
      // No message is executed meanwhile.
      rank.engine().between_sends([&] {
        rank.signal(1, 1);
        EXPECT_TRUE(rank.wait_for_value(0, 1, 1));
      });
    } else {
      Engine& engine = rank.engine();
      Peer& peer = rank.peer(1);
      ASSERT_TRUE(rank.wait_for_value(1, 1, 1));
      RemoteAddress const array = rank.published(1, 0);
      RemoteAddress const element = array + 8 * 3 * pieces;
      std::optional<StripeGuard> array_update(std::in_place, *peer.stripes(),
                                              stripes_of(element, element + 8));
      std::vector<std::int64_t> const values(pieces, 7);
      ASSERT_NE(engine.issue(peer, scattered_put(values, array)).sequence, 0u) << "not by a message";
      std::int64_t const one = 1;
      std::int64_t before = 0;
      Waiter waiter;
      RmaOp sum = contiguous(ReduceOp::sum, ElementType::int64, &one, element, 8, &before);
      sum.flags = sum.flags | OpFlags::overlap_ordered | OpFlags::remote_completion;
      sum.completion = &waiter;
      ASSERT_EQ(engine.issue(peer, sum).status, Status::ok);
      EXPECT_FALSE(peer.stripes()->modes.is_by_element(element));
      rank.signal(1, 1);
      EXPECT_FALSE(peer.stripes()->modes.is_by_element(element));
      array_update.reset();
      engine.waits.until(peer, [&] { return waiter.complete.load(); });
      EXPECT_EQ(waiter.status, Status::ok);
      EXPECT_EQ(before, 5);
      EXPECT_TRUE(peer.stripes()->modes.is_by_element(element));
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(memory[3 * pieces], 6);
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
