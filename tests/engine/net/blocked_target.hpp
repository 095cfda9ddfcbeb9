/// A target that keeps an operation in flight, so that later ones wait in a batch.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "engine/sync/footprint.hpp"
#include "tests/engine/net/batching.hpp"

namespace mpixrma::engine {

// The values that rank 0 publishes to rank 1 in the phase slot, and vice versa.
enum : std::uint64_t { held = 1, issued, seen };
constexpr std::size_t stripe = std::size_t{1} << stripe_shift;

/// Memory of rank 1 whose first two elements cannot be updated as an array while their stripe is held: such
/// an update stays in flight and unacknowledged.
class BlockedTarget {
 public:
  explicit BlockedTarget(Rank& rank) : rank_(rank) {
    EXPECT_EQ(rank.engine().memory.allocate(4 * stripe, &memory_), Status::ok);
    std::memset(memory_, 0, 4 * stripe);
    rank.publish(memory_slot, memory_);
    rank.barrier();
    // Operations that wait until deferred UCX has started are not batched.
    if (rank.rank() == 0 && test::chosen_for_tests("MPIX_TEST_ONE_HOST", 0) != 0) {
      std::int64_t value = 0;
      EXPECT_EQ(run(engine(), target(), contiguous(OpKind::get, &value, there(free), 8)), Status::ok);
    }
  }

  Rank& rank() const { return rank_; }
  Engine& engine() const { return rank_.engine(); }
  Peer& target() const { return rank_.peer(1); }
  std::int64_t* here() const { return static_cast<std::int64_t*>(memory_); }
  std::int64_t volatile const& element(std::size_t index) const { return here()[index]; }
  /// Returns the address of the element at rank 1. The 6,000 elements from `free` on are not under the stripe
  /// of the first one.
  RemoteAddress there(std::size_t index) const { return rank_.published(1, memory_slot) + index * 8; }
  static constexpr std::size_t free = stripe / 8;

  /// At rank 1: holds the stripe of the first element until rank 0 publishes `until`; calls `meanwhile` when
  /// rank 0 has issued.
  template <typename Meanwhile>
  void hold(Meanwhile meanwhile, std::uint64_t until) const {
    RmaOp const product = contiguous(ReduceOp::prod, ElementType::float64, nullptr,
                                     reinterpret_cast<RemoteAddress>(memory_), 16);
    Footprint footprint;
    footprint.target = {stripes_of(product.target, product.target + 16), 0};
    StripeLockPair locks = engine().stripes.make_locks(rank_.peer(1), footprint);
    while (!locks.acquire()) {
    }
    rank_.signal(phase_slot, held);
    EXPECT_TRUE(rank_.wait_for_value(0, phase_slot, issued));
    meanwhile();
    if (until != issued) {
      EXPECT_TRUE(rank_.wait_for_value(0, phase_slot, until));
    }
  }

  /// At rank 1: holds the stripe until the first of the other elements has become 1, and publishes that to
  /// rank 0.
  void hold_until_seen() const {
    hold(
        [this] {
          EXPECT_TRUE(becomes(free, 1));
          rank_.signal(phase_slot, seen);
        },
        issued);
  }

  /// At rank 1: holds the stripe until rank 0 calls complete().
  void hold_until_complete() const {
    hold([] {}, issued);
    EXPECT_TRUE(rank_.wait_for_value(0, phase_slot, seen));
  }
  /// At rank 0: lets rank 1 release the stripe, and waits for all operations.
  void complete() const {
    rank_.signal(phase_slot, issued);
    engine().order.complete(target(), UINT64_MAX);
    rank_.signal(phase_slot, seen);
  }

  /// At rank 0: issues an operation that stays in flight until rank 1 releases the stripe.
  void block() const {
    EXPECT_TRUE(rank_.wait_for_value(1, phase_slot, held));
    static double const factors[2] = {2.0, 3.0};
    RmaOp const product = contiguous(ReduceOp::prod, ElementType::float64, factors, there(0), 16);
    EXPECT_EQ(engine().issue(target(), product).status, Status::ok);
  }
  void put(std::size_t index, std::int64_t value) const {
    std::int64_t& origin = origins_[index];  // must be valid until the put is complete
    origin = value;
    EXPECT_EQ(engine().issue(target(), contiguous(OpKind::put, &origin, there(index), 8)).status, Status::ok);
  }
  /// An increment that nobody waits for soon.
  std::uint64_t signal(std::size_t index) const {
    RmaOp raise = contiguous(ReduceOp::increment, ElementType::uint64, nullptr, there(index), 8);
    raise.flags = OpFlags::element_atomic | OpFlags::delayed_ack;
    Issued const issued = engine().issue(target(), raise);
    EXPECT_EQ(issued.status, Status::ok);
    return issued.sequence;
  }
  std::uint64_t in_batches() const { return engine().traffic.statistics().requests_in_batches; }

  /// At rank 1: whether the element gets the value without a call of the engine.
  bool becomes(std::size_t index, std::int64_t value, int milliseconds = 20000) const {
    for (int i = 0; i < milliseconds && element(index) != value; ++i) ::usleep(1000);
    return element(index) == value;
  }

 private:
  Rank& rank_;
  void* memory_ = nullptr;
  mutable std::vector<std::int64_t> origins_ = std::vector<std::int64_t>(4 * stripe / 8);
};

}  // namespace mpixrma::engine
