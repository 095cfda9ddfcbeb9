/// Section 5.1: read-modify-writes beside each other, and their completion.
#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

class X51Updates : public Clause {
 protected:
  static constexpr int few = 4;
  static constexpr int many = 4000;

  /// Adds one to each of `count` longs of rank 0.
  void add_one(int kind, int count, std::uint64_t set) {
    MPIX_RMA_Attributes const chosen = attributes(set);
    ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, ones_.data(), count, MPI_LONG, nullptr, 0,
                           address_of(memory_.at(0, kind)), nullptr, &world, &chosen),
              MPI_SUCCESS);
  }

  std::vector<long> ones_ = std::vector<long>(many, 1);
};

/// Every third round all ranks use ACCUMULATE with ATOMICITY; otherwise half of them add with ATOMICITY, and
/// the other half without.
TEST_F(X51Updates, X51_22_elements_are_updated_atomically_with_atomicity_and_without) {
  constexpr int rounds = 300;
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      if (round % 3 == 0) {
        ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, ones_.data(), few, MPI_LONG, 0, memory_.at(0, kind),
                           MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_BLOCKING),
                  MPI_SUCCESS);
      } else {
        add_one(kind, few, MPIX_RMA_ATTR_BLOCKING | (rank_ % 2 == 0 ? MPIX_RMA_ATTR_ATOMICITY : 0));
      }
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
    MPI_Barrier(world);
    if (rank_ == 0) {
      for (int i = 0; i < few; ++i) EXPECT_EQ(own<long>(kind, 8 * i), rounds * size_) << "kind " << kind;
    }
    MPI_Barrier(world);
  }
}

/// All elements have one value, whichever operations with ATOMICITY write and read them.
TEST_F(X51Updates, X51_22_with_atomicity_a_call_is_indivisible) {
  constexpr int rounds = 100;
  constexpr std::uint64_t set = MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_BLOCKING;
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<long> values(many, round);
      if (round % 4 == 0) {
        ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), many, MPI_LONG, 0, memory_.at(0, kind), set),
                  MPI_SUCCESS);
      } else {
        add_one(kind, many, set);
      }
      ASSERT_EQ(transfer(MPIX_RMA_GET, values.data(), many, MPI_LONG, 0, memory_.at(0, kind), set),
                MPI_SUCCESS);
      for (long const value : values) ASSERT_EQ(value, values[0]) << "kind " << kind << " round " << round;
    }
    MPI_Barrier(world);
  }
}

/// Only the completion of the update orders the update before the message to the target.
TEST_F(X51Updates, X51_23_complete_update_with_result_is_visible_to_the_target) {
  constexpr int rounds = 30;
  fill(0);
  MPIX_RMA_Attributes const blocking = attributes(MPIX_RMA_ATTR_BLOCKING);
  std::vector<long> before(many);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      int const elements = round % 2 == 0 ? 1 : many;
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, ones_.data(), elements, MPI_LONG, before.data(), next_,
                             address_of(there(kind)), nullptr, &world, &blocking),
                MPI_SUCCESS);
      MPI_Sendrecv(nullptr, 0, MPI_INT, next_, 0, nullptr, 0, MPI_INT, previous_, 0, world,
                   MPI_STATUS_IGNORE);
      ASSERT_EQ(own<long>(kind), round + 1) << "kind " << kind;
      ASSERT_EQ(own<long>(kind, 8 * (many - 1)), (round + 1) / 2) << "kind " << kind;
      MPI_Barrier(world);
    }
  }
}

}  // namespace
}  // namespace mpixrma::test
