/// Section 5.1.2: semantics and correctness.
#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

class X512 : public Clause {};

/// Dekker's pattern: every operation is complete at the target before the next is issued, so the two ranks
/// cannot both read the old value of the other's flag.
TEST_F(X512, X512_02_blocking_and_remote_completion_give_sequential_consistency) {
  constexpr int rounds = 200;
  if (size_ == 1) GTEST_SKIP() << "needs two ranks";
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 1; round <= rounds; ++round) {
      int got = -1;
      MPI_Barrier(world);
      if (rank_ < 2) {
        int const value = round;
        // The flags of both ranks are at the last rank: rank r's at 8 r.
        int const where = size_ - 1;
        ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<int*>(&value), 1, MPI_INT, where,
                           memory_.at(where, kind, 8 * rank_), blocking_remote),
                  MPI_SUCCESS);
        ASSERT_EQ(transfer(MPIX_RMA_GET, &got, 1, MPI_INT, where, memory_.at(where, kind, 8 * (1 - rank_)),
                           blocking_remote),
                  MPI_SUCCESS);
      }
      int const saw_old = rank_ < 2 && got != round ? 1 : 0;
      int both = 0;
      MPI_Allreduce(&saw_old, &both, 1, MPI_INT, MPI_SUM, world);
      ASSERT_LT(both, 2) << "kind " << kind << " round " << round;
    }
    std::memset(memory_.own(kind), 0, 64);
    MPI_Barrier(world);
  }
}

/// A type with gaps, a lower bound, blocks out of order and empty blocks, against elements in reverse order
/// without gaps.
TEST_F(X512, X512_03_general_datatypes_on_both_sides) {
  int const lengths[] = {2, 0, 1, 3};
  int const places[] = {10, 4, 0, 5};
  MPI_Datatype indexed = MPI_DATATYPE_NULL;
  MPI_Datatype reversed = MPI_DATATYPE_NULL;
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  MPI_Type_indexed(4, lengths, places, MPI_DOUBLE, &indexed);
  MPI_Type_create_resized(indexed, -8, 16 * 8, &resized);
  MPI_Type_create_hvector(6, 1, -8, MPI_DOUBLE, &reversed);
  MPI_Type_commit(&resized);
  MPI_Type_commit(&reversed);
  constexpr int count = 20;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    fill(0);
    std::vector<double> origin(6 * count);
    std::iota(origin.begin(), origin.end(), 1.0);
    // In reverse order, into the pieces of the target.
    std::vector<double> expected(16 * count + 16, 0.0);
    for (int i = 0; i < count; ++i) {
      int k = 0;
      for (int b = 0; b < 4; ++b) {
        for (int e = 0; e < lengths[b]; ++e, ++k)
          expected[static_cast<std::size_t>(16 * i + places[b] + e)] =
              origin[static_cast<std::size_t>(6 * i + 5 - k)];
      }
    }
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(reversed, 0, 6 * 8, &block);
    MPI_Type_commit(&block);
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_PUT, &origin[5], count, block, next_, there(kind), count, resized,
                                nullptr, &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(std::memcmp(memory_.own(kind), expected.data(), expected.size() * 8), 0) << "kind " << kind;
    std::vector<double> back(6 * count, -1);
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_GET, &back[5], count, block, next_, there(kind), count, resized,
                                nullptr, &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    EXPECT_EQ(back, origin);
    MPI_Barrier(world);
    MPI_Type_free(&block);
  }
  for (MPI_Datatype* const type : {&indexed, &reversed, &resized}) MPI_Type_free(type);
}

/// The operation keeps what it needs of its datatypes and attributes.
TEST_F(X512, X512_03_datatypes_and_attributes_may_end_after_the_call) {
  constexpr int rounds = 100;
  constexpr int count = 50;
  ErrorsReturn const returned(world);
  fill(0);
  std::vector<long> values(2 * count, 1);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      MPI_Datatype strided = MPI_DATATYPE_NULL;
      MPI_Type_vector(count, 1, 2, MPI_LONG, &strided);
      MPI_Type_commit(&strided);
      long scale = 2;
      MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_ACCUMULATE_SCALE);
      chosen.accumulate_scale = &scale;
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, values.data(), 1, strided, next_, there(kind), 1, strided,
                              nullptr, &world, &chosen),
                MPI_SUCCESS);
      MPI_Type_free(&strided);
      scale = 99;
      chosen = attributes(~std::uint64_t{0});
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    for (int i = 0; i < 2 * count; ++i)
      ASSERT_EQ(own<long>(kind, 8 * i), i % 2 == 0 ? 2 * rounds : 0) << "kind " << kind << " element " << i;
  }
}

TEST_F(X512, X512_04_process_may_be_its_own_target) {
  Duplicate self(MPI_COMM_SELF);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (std::uint64_t const set : {std::uint64_t{0}, MPIX_RMA_ATTR_ATOMICITY, MPIX_RMA_ATTR_ORDERING}) {
      std::memset(memory_.own(kind), 0, 64000);
      std::vector<double> values(8000, 1.5);
      MPIX_RMA_Attributes chosen = attributes(set | MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION);
      for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_ACCUMULATE, MPIX_RMA_GET}) {
        ASSERT_EQ(MPIX_RMA_xfer(op, values.data(), 8000, MPI_DOUBLE, 0, memory_.own(kind), 8000, MPI_DOUBLE,
                                nullptr, &self, &chosen),
                  MPI_SUCCESS);
      }
      EXPECT_EQ(values, std::vector<double>(8000, 3.0)) << "kind " << kind << " attributes " << set;
    }
  }
}

}  // namespace
}  // namespace mpixrma::test
