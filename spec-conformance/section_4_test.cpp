/// Section 4: terminology.
#include <atomic>

#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

class X4 : public Clause {};

TEST_F(X4, X4_01_any_combination_of_operations_to_overlapping_memory_ends) {
  std::vector<double> values(512, 1.5);
  for (int round = 0; round < 60; ++round) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      auto const op = static_cast<MPIX_RMA_Op>(1 + (round + rank_) % 3);
      char* const target = memory_.at(0, kind, 64 * (round % 7));
      ASSERT_EQ(transfer(op, values.data(), 512, MPI_DOUBLE, 0, target), MPI_SUCCESS);
    }
  }
  EXPECT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
}

TEST_F(X4, X4_02_thousands_of_operations_to_one_destination_may_be_outstanding) {
  constexpr int count = 3000;
  fill(0);
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 7);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(
          transfer(MPIX_RMA_PUT, &values[static_cast<std::size_t>(i)], 1, MPI_INT, next_, there(kind, 4 * i)),
          MPI_SUCCESS);
  }
  ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    EXPECT_EQ(std::memcmp(memory_.own(kind), values.data(), count * sizeof(int)), 0) << "kind " << kind;
  }
}

TEST_F(X4, X4_03_put_moves_from_origin_to_target_and_get_back) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    int const value = 100 * rank_ + kind;
    ASSERT_EQ(
        transfer(MPIX_RMA_PUT, const_cast<int*>(&value), 1, MPI_INT, next_, there(kind), blocking_remote),
        MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(kind), 100 * previous_ + kind);
    int got = -1;
    ASSERT_EQ(transfer(MPIX_RMA_GET, &got, 1, MPI_INT, next_, there(kind), MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
    EXPECT_EQ(got, value);
    MPI_Barrier(world);
  }
}

TEST_F(X4, X4_04_addresses_are_those_of_the_datatypes_origin) {
  fill(0);
  // Elements below the address: a lower bound of -8 bytes.
  MPI_Datatype below = MPI_DATATYPE_NULL;
  MPI_Aint const displacement = -8;
  int const length = 1;
  MPI_Type_create_hindexed(1, &length, &displacement, MPI_LONG, &below);
  MPI_Type_commit(&below);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    long const values[] = {1000L + rank_, -1};
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_PUT, const_cast<long*>(&values[1]), 1, below, next_, there(kind, 16),
                                1, below, nullptr, &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<long>(kind, 8), 1000 + previous_);
    EXPECT_EQ(own<long>(kind, 16), 0);
  }
  MPI_Type_free(&below);
}

TEST_F(X4, X4_05_complete_means_that_the_buffer_is_reusable_or_filled) {
  fill(0);
  std::vector<int> values(4000);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::fill(values.begin(), values.end(), 5 + kind);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), 4000, MPI_INT, next_, there(kind), 0, &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::fill(values.begin(), values.end(), -1);  // must not reach the target
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    ASSERT_EQ(transfer(MPIX_RMA_GET, values.data(), 4000, MPI_INT, next_, there(kind), 0, &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(values, std::vector<int>(4000, 5 + kind)) << "kind " << kind;
  }
}

TEST_F(X4, X4_06_remote_completion_shows_in_the_target) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<long> values(5000, 10 + kind);
    ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), 5000, MPI_LONG, next_, there(kind)), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(std::memcmp(memory_.own(kind), values.data(), 40000), 0) << "kind " << kind;
  }
}

/// In allocated memory only: other memory of the same host is copied by the kernel, which may tear words.
TEST_F(X4, X4_07_single_aligned_words_are_not_torn) {
  fill(0);
  constexpr int rounds = 300;
  auto const put_and_get = [&](auto word, MPI_Datatype type, std::ptrdiff_t offset) {
    using Word = decltype(word);
    auto const ones = static_cast<Word>(0x0101010101010101U);
    char* const target = memory_.at(0, Memory::allocated, offset);
    for (int round = 0; round < rounds; ++round) {
      word = static_cast<Word>(static_cast<Word>(1 + (round + rank_) % 200) * ones);
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &word, 1, type, 0, target), MPI_SUCCESS);
      Word got = 1;
      ASSERT_EQ(transfer(MPIX_RMA_GET, &got, 1, type, 0, target, MPIX_RMA_ATTR_BLOCKING), MPI_SUCCESS);
      ASSERT_EQ(got, static_cast<Word>((got & 0xff) * ones)) << sizeof(Word);
    }
  };
  put_and_get(std::uint64_t{}, MPI_UINT64_T, 64);
  put_and_get(std::uint32_t{}, MPI_UINT32_T, 76);
  put_and_get(std::uint16_t{}, MPI_UINT16_T, 82);
  ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
}

/// Every rank puts and gets uniform arrays; every fetched array is uniform.
TEST_F(X4, X4_08_atomic_operations_exclude_each_other_from_start_to_finish) {
  fill(1);
  constexpr int rounds = 40;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::size_t const length = kind == Memory::registered ? 60000 : 3000;
    std::vector<char> mine(length);
    for (int round = 0; round < rounds; ++round) {
      int const target = (rank_ + round) % size_;
      std::fill(mine.begin(), mine.end(), static_cast<char>(rank_ * rounds + round));
      std::uint64_t const set = MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_BLOCKING;
      ASSERT_EQ(transfer(MPIX_RMA_PUT, mine.data(), static_cast<int>(length), MPI_BYTE, target,
                         memory_.at(target, kind), set),
                MPI_SUCCESS);
      ASSERT_EQ(transfer(MPIX_RMA_GET, mine.data(), static_cast<int>(length), MPI_BYTE, target,
                         memory_.at(target, kind), set),
                MPI_SUCCESS);
      ASSERT_TRUE(is_uniform(mine.data(), length)) << "kind " << kind << " round " << round;
    }
  }
}

}  // namespace
}  // namespace mpixrma::test
