/// MPIX_RMA_rmw: exact counters, swaps, the operations of the proposal.
#include <algorithm>
#include <numeric>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

template <typename T>
T rmw(MPIX_RMW_Op op, T operand, MPI_Datatype type, int rank, void* target) {
  T result{};
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_BLOCKING);
  MPI_Aint address = 0;
  MPI_Get_address(target, &address);
  EXPECT_EQ(MPIX_RMA_rmw(op, &operand, 1, type, &result, rank, address, nullptr, &world, &chosen),
            MPI_SUCCESS);
  return result;
}

TEST(Rmw, ContendedCountersAreExactAndEachValueIsFetchedOnce) {
  constexpr int rounds = 400;
  Memory memory(4096);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<long> fetched;
    for (int round = 0; round < rounds; ++round)
      fetched.push_back(rmw<long>(MPIX_RMW_SUM, 1, MPI_LONG, 0, memory.at(0, kind)));
    std::vector<long> all(static_cast<std::size_t>(rounds * memory.size()));
    MPI_Gather(fetched.data(), rounds, MPI_LONG, all.data(), rounds, MPI_LONG, 0, world);
    MPI_Barrier(world);
    if (memory.rank() == 0) {
      EXPECT_EQ(*reinterpret_cast<long*>(memory.own(kind)), rounds * memory.size());
      std::sort(all.begin(), all.end());
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<long>(i)) << "kind " << kind;
    }
    MPI_Barrier(world);
  }
}

TEST(Rmw, IgnoredOperandsAreNotRead) {
  Memory memory(64);
  auto* const nowhere = reinterpret_cast<void*>(0x10000);
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_BLOCKING);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    MPI_Aint const address = reinterpret_cast<MPI_Aint>(memory.at(memory.rank(), kind));
    // The second operation of each kind finds what the first one has cached.
    for (MPIX_RMW_Op const op : {MPIX_RMW_INC, MPIX_RMW_INC, MPIX_RMW_NO_OP, MPIX_RMW_NO_OP}) {
      long before = -1;
      EXPECT_EQ(
          MPIX_RMA_rmw(op, nowhere, 1, MPI_LONG, &before, memory.rank(), address, nullptr, &world, &chosen),
          MPI_SUCCESS);
      EXPECT_GE(before, 0);
    }
    EXPECT_EQ(*reinterpret_cast<long*>(memory.own(kind)), 2);
  }
}

TEST(Rmw, SwapsPassTokenToExactlyOneRank) {
  Memory memory(64);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    if (memory.rank() == 0) *reinterpret_cast<int*>(memory.own(kind)) = 77;
    MPI_Barrier(world);
    int const got = rmw<int>(MPIX_RMW_SWAP, -1, MPI_INT, 0, memory.at(0, kind));
    int const have = got == 77 ? 1 : 0;
    EXPECT_TRUE(got == 77 || got == -1);
    int winners = 0;
    MPI_Allreduce(&have, &winners, 1, MPI_INT, MPI_SUM, world);
    EXPECT_EQ(winners, 1);
    MPI_Barrier(world);
  }
}

TEST(Rmw, OperationsOfTheProposalOnOneElement) {
  Memory memory(64);
  int const target = (memory.rank() + 1) % memory.size();
  struct Case {
    MPIX_RMW_Op op;
    long expected;
  };
  // 12 (operation) 10
  Case const cases[] = {{MPIX_RMW_INC, 13}, {MPIX_RMW_PROD, 120}, {MPIX_RMW_SUM, 22}, {MPIX_RMW_LAND, 1},
                        {MPIX_RMW_LOR, 1},  {MPIX_RMW_LXOR, 0},   {MPIX_RMW_BAND, 8}, {MPIX_RMW_BOR, 14},
                        {MPIX_RMW_BXOR, 6}, {MPIX_RMW_SWAP, 10}};
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (Case const& one : cases) {
      (void)rmw<long>(MPIX_RMW_SWAP, 12, MPI_LONG, target, memory.at(target, kind));
      EXPECT_EQ(rmw<long>(one.op, 10, MPI_LONG, target, memory.at(target, kind)), 12);
      EXPECT_EQ(rmw<long>(MPIX_RMW_SWAP, 0, MPI_LONG, target, memory.at(target, kind)), one.expected)
          << "operation " << one.op;
    }
    (void)rmw<double>(MPIX_RMW_SWAP, 1.5, MPI_DOUBLE, target, memory.at(target, kind));
    EXPECT_EQ(rmw<double>(MPIX_RMW_SUM, 2.0, MPI_DOUBLE, target, memory.at(target, kind)), 1.5);
    EXPECT_EQ(rmw<double>(MPIX_RMW_SWAP, 0, MPI_DOUBLE, target, memory.at(target, kind)), 3.5);
  }
}

TEST(Rmw, UpdatesManyElementsWithAndWithoutResult) {
  constexpr int count = 20000;
  Memory memory(count * sizeof(long));
  std::vector<long> ones(count, 1);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    MPI_Aint address = 0;
    MPI_Get_address(memory.at(0, kind), &address);
    ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, ones.data(), count, MPI_LONG, nullptr, 0, address, nullptr, &world,
                           nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
    MPI_Barrier(world);
    std::vector<long> got(count);
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<long> zeros(count, 0);
    ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, zeros.data(), count, MPI_LONG, got.data(), 0, address, &request,
                           &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (long const value : got) ASSERT_EQ(value, memory.size());
    MPI_Barrier(world);
  }
}

}  // namespace
}  // namespace mpixrma::test
