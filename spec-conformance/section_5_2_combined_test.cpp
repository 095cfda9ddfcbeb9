/// Section 5.2: the calls in place of attributes and together with them, and the order of read-modify-writes.
#include <array>
#include <deque>

#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

constexpr int longs = 8000;

/// How a program asks for order or remote completion.
enum class By { attribute, call, both };
constexpr By ways[] = {By::attribute, By::call, By::both};

class X52Combined : public Clause {
 protected:
  char* place(int kind) const { return there(kind, 8 * (longs - 1)); }
  int fence(By by) { return by == By::attribute ? MPI_SUCCESS : MPIX_RMA_Fence(&world, next_); }
  static std::uint64_t ordering(By by) { return by == By::call ? 0 : MPIX_RMA_ATTR_ORDERING; }
  /// Updates the target's long and fetches its previous value, without waiting.
  int update(MPIX_RMW_Op op, long operand, long* before, int kind, By by) {
    MPIX_RMA_Attributes chosen = {};
    chosen.set = ordering(by);
    operands_.push_back(operand);
    return MPIX_RMA_rmw(op, &operands_.back(), 1, MPI_LONG, before, next_, address_of(place(kind)), nullptr,
                        &world, &chosen);
  }

  std::deque<long> operands_;
};

TEST_F(X52Combined, X52_01_remote_completion_by_call_attribute_and_both) {
  for (int round = 1; round <= 30; ++round) {
    By const by = ways[round % 3];
    std::uint64_t const attributes = by == By::call ? 0 : blocking_remote;
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      std::vector<long> const values(longs, 100L * round + rank_);
      EXPECT_EQ(transfer(MPIX_RMA_PUT, const_cast<long*>(values.data()), longs, MPI_LONG, next_, there(kind),
                         attributes),
                MPI_SUCCESS);
      if (by != By::attribute) EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      MPI_Barrier(world);
      for (std::ptrdiff_t const place : {0, longs / 2, longs - 1})
        EXPECT_EQ(own<long>(kind, 8 * place), 100L * round + previous_)
            << "round " << round << " kind " << kind;
      MPI_Barrier(world);
      EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    }
  }
}

TEST_F(X52Combined, X52_01_order_by_call_attribute_and_both) {
  fill(0);
  for (int round = 1; round <= 30; ++round) {
    By const by = ways[round % 3];
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      std::vector<long> values(longs, 100L * round);
      long ones[] = {1, 1};
      long last = -round;
      EXPECT_EQ(transfer(MPIX_RMA_PUT, values.data(), longs, MPI_LONG, next_, there(kind), ordering(by)),
                MPI_SUCCESS);
      EXPECT_EQ(fence(by), MPI_SUCCESS);
      EXPECT_EQ(
          transfer(MPIX_RMA_ACCUMULATE, ones, 2, MPI_LONG, next_, there(kind, 8 * (longs - 2)), ordering(by)),
          MPI_SUCCESS);
      EXPECT_EQ(fence(by), MPI_SUCCESS);
      EXPECT_EQ(transfer(MPIX_RMA_PUT, &last, 1, MPI_LONG, next_, place(kind), ordering(by)), MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      MPI_Barrier(world);
      EXPECT_EQ(own<long>(kind), 100L * round) << "kind " << kind;
      EXPECT_EQ(own<long>(kind, 8 * (longs - 2)), 100L * round + 1) << "kind " << kind;
      EXPECT_EQ(own<long>(kind, 8 * (longs - 1)), -round) << "kind " << kind;
      MPI_Barrier(world);
    }
  }
}

/// A put, two read-modify-writes and an accumulate on one place, none of which is waited for. The place is
/// the last word of the large puts, which arrives last.
TEST_F(X52Combined, X52_01_read_modify_writes_are_ordered_by_call_attribute_and_both) {
  fill(0);
  constexpr int rounds = 40;
  for (By const by : ways) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      std::vector<std::array<long, 2>> before(rounds, {-1, -1});
      std::vector<std::vector<long>> values;
      long one = 1;
      for (int round = 0; round < rounds; ++round) {
        values.emplace_back(round % 4 == 0 ? longs : 1, 10L * round);
        auto const count = static_cast<int>(values.back().size());
        auto& fetched = before[static_cast<std::size_t>(round)];
        ASSERT_EQ(transfer(MPIX_RMA_PUT, values.back().data(), count, MPI_LONG, next_,
                           there(kind, 8 * (longs - count)), ordering(by)),
                  MPI_SUCCESS);
        ASSERT_EQ(fence(by), MPI_SUCCESS);
        ASSERT_EQ(update(MPIX_RMW_SUM, 2, &fetched[0], kind, by), MPI_SUCCESS);
        ASSERT_EQ(fence(by), MPI_SUCCESS);
        ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_LONG, next_, place(kind), ordering(by)),
                  MPI_SUCCESS);
        ASSERT_EQ(fence(by), MPI_SUCCESS);
        ASSERT_EQ(update(MPIX_RMW_SWAP, -7, &fetched[1], kind, by), MPI_SUCCESS);
        ASSERT_EQ(fence(by), MPI_SUCCESS);
      }
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      for (std::size_t round = 0; round < rounds; ++round) {
        EXPECT_EQ(before[round][0], 10 * static_cast<long>(round)) << "kind " << kind;
        EXPECT_EQ(before[round][1], 10 * static_cast<long>(round) + 3) << "kind " << kind;
      }
      MPI_Barrier(world);
      EXPECT_EQ(own<long>(kind, 8 * (longs - 1)), -7);
      MPI_Barrier(world);
    }
  }
}

}  // namespace
}  // namespace mpixrma::test
