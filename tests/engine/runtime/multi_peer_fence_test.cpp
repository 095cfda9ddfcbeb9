/// The list of messages before a fence over several peers.
#include "engine/runtime/multi_peer_fence.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace mpixrma::engine {
namespace {

Peer* peer_number(std::uintptr_t number) { return reinterpret_cast<Peer*>(number << 6); }

TEST(MultiPeerFence, HasOneEntryForEachPeer) {
  MultiPeerFence fence;
  EXPECT_FALSE(fence.is_pending());
  EXPECT_TRUE(fence.add({peer_number(1), 10}));
  EXPECT_TRUE(fence.is_pending());
  for (std::uint64_t sequence = 11; sequence <= 1000; ++sequence)
    EXPECT_FALSE(fence.add({peer_number(1), sequence}));
  EXPECT_FALSE(fence.add({peer_number(1), 20}));
  ASSERT_EQ(fence.unfinished().size(), 1u);
  EXPECT_EQ(fence.unfinished().front(), (PeerSequence{peer_number(1), 1000}));
  EXPECT_TRUE(fence.add({peer_number(2), 5}));
  EXPECT_EQ(fence.unfinished().size(), 2u);
}

TEST(MultiPeerFence, KeepsEntryWithRaisedPosition) {
  MultiPeerFence fence;
  EXPECT_TRUE(fence.add({peer_number(1), 10}));
  EXPECT_FALSE(fence.add({peer_number(1), 12}));
  EXPECT_FALSE(fence.remove({peer_number(1), 10}));
  EXPECT_TRUE(fence.is_pending());
  EXPECT_TRUE(fence.remove({peer_number(1), 12}));
  EXPECT_FALSE(fence.is_pending());
  EXPECT_FALSE(fence.remove({peer_number(1), 12}));
}

}  // namespace
}  // namespace mpixrma::engine
