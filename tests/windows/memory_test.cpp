/// Memory of MPI_Alloc_mem, which the library takes from its segments.
#include <algorithm>

#include "include/mpix_rma.h"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class AllocatedMemory : public WindowTest {};

TEST_F(AllocatedMemory, IsReachedByLoadAndStoreInWindowsOnIt) {
  if (!can_share()) GTEST_SKIP() << "no shared memory";
  constexpr MPI_Aint bytes = 1 << 20;
  long* mine = nullptr;
  ASSERT_EQ(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &mine), MPI_SUCCESS);
  mine[1000] = 100 + rank_;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create(mine, bytes, 8, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  MPI_Win_fence(0, window);
  MPI_Aint size = 0;
  int unit = 0;
  long* there = nullptr;
  EXPECT_EQ(MPI_Win_shared_query(window, next_, &size, &unit, &there), MPI_SUCCESS);
  EXPECT_EQ(size, bytes);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there[1000], 100 + next_);
  MPI_Win_fence(0, window);
  there[1] = 200 + rank_;
  MPI_Win_fence(0, window);
  EXPECT_EQ(mine[1], 200 + previous_);
  MPI_Win_free(&window);
  EXPECT_EQ(MPI_Free_mem(mine), MPI_SUCCESS);
}

TEST_F(AllocatedMemory, OfAnySizeIsAllocatedAndFreed) {
  for (MPI_Aint const bytes : {1, 100, 4095, 4096, 70000, 1 << 20}) {
    char* memory[3] = {};
    for (char*& base : memory) {
      ASSERT_EQ(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &base), MPI_SUCCESS);
      std::fill_n(base, bytes, 'a');
    }
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(memory[1], bytes, 1, MPI_INFO_NULL, world, &window);
    char const letter = 'b';
    MPI_Win_fence(0, window);
    MPI_Put(&letter, 1, MPI_CHAR, next_, bytes - 1, 1, MPI_CHAR, window);
    MPI_Win_fence(0, window);
    EXPECT_EQ(memory[1][bytes - 1], 'b');
    EXPECT_EQ(std::count(memory[1], memory[1] + bytes, 'a'), bytes - 1);
    MPI_Win_free(&window);
    for (char* const base : memory) EXPECT_EQ(MPI_Free_mem(base), MPI_SUCCESS);
  }
}

TEST_F(AllocatedMemory, OfMpiIsFreedByMpi) {
  char* memory = nullptr;
  ASSERT_EQ(PMPI_Alloc_mem(10000, MPI_INFO_NULL, &memory), MPI_SUCCESS);
  EXPECT_EQ(MPI_Free_mem(memory), MPI_SUCCESS);
  Info const aligned{{"mpi_minimum_memory_alignment", "64"}};
  ASSERT_EQ(MPI_Alloc_mem(10000, aligned.get(), &memory), MPI_SUCCESS);
  EXPECT_EQ(MPI_Free_mem(memory), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test
