/// Inaccessible origin memory: detected when the kernel copies the data.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

/// Whether the kernel copies to and from ordinary memory of other processes.
bool through_the_kernel() {
  char const* const path = std::getenv("OMPI_MCA_osc_mpix_path");
  if (path != nullptr && std::string_view(path) != "cross_memory") return false;
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int same = 0;
  int all = 0;
  MPI_Comm_size(host, &same);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Comm_free(&host);
  return same == all;
}

TEST(Origin, InaccessibleMemoryIsBufferErrorAndProgramContinues) {
  if (!through_the_kernel()) GTEST_SKIP() << "undefined, as for any MPI call";
  constexpr int count = 64;
  constexpr std::size_t page = 4096;
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory memory(count * sizeof(double));
  void* const nothing = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(nothing, MAP_FAILED);
  char place[64];
  std::snprintf(place, sizeof place, "origin address %p (%zu bytes)", nothing, count * sizeof(double));
  for (int const rank : {memory.rank(), (memory.rank() + 1) % memory.size()}) {
    char* const target = memory.at(rank, Memory::plain);
    for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET}) {
      int const code = transfer(op, nothing, count, MPI_DOUBLE, rank, target);
      EXPECT_EQ(class_of(code), MPI_ERR_BUFFER);
      EXPECT_NE(text_of(code).find(place), std::string::npos) << text_of(code);
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(class_of(transfer(op, nothing, count, MPI_DOUBLE, rank, target, 0, &request)),
                MPI_ERR_BUFFER);
    }
    double sent = 3.5;
    double got = 0;
    EXPECT_EQ(
        transfer(MPIX_RMA_PUT, &sent, 1, MPI_DOUBLE, memory.rank(), memory.at(memory.rank(), Memory::plain)),
        MPI_SUCCESS);
    EXPECT_EQ(
        transfer(MPIX_RMA_GET, &got, 1, MPI_DOUBLE, memory.rank(), memory.at(memory.rank(), Memory::plain)),
        MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
    EXPECT_EQ(got, sent);
  }
  ::munmap(nothing, page);
}

}  // namespace
}  // namespace mpixrma::test
