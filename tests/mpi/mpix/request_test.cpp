/// Native requests: their memory.
#include <cstdio>

#include "tests/support/mpix_fixture.hpp"

namespace mpix::test {
namespace {

/// Resident memory of this process in KiB.
long resident() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  EXPECT_EQ(std::fscanf(file, "%*d %ld", &pages), 1);
  std::fclose(file);
  return pages * 4;
}

class Requests : public ::testing::Test {
 protected:
  int next() const { return (memory_.rank() + 1) % memory_.size(); }

  Memory memory_{256};
  double value_ = 1;
};

TEST_F(Requests, freed_before_completion_are_used_again) {
  auto const put_and_free = [&](int kind) {
    for (int i = 0; i < 10000; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), memory_.at(next(), kind), 0, &request),
                MPI_SUCCESS);
      ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      if (i % 100 == 99) ASSERT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
    }
  };
  for (int kind = 0; kind < Memory::kinds; ++kind) put_and_free(kind);
  long const before = resident();
  for (int kind = 0; kind < Memory::kinds; ++kind) put_and_free(kind);
  EXPECT_LT(resident() - before, 1024);  // 250 bytes each would be seven times as much
}

}  // namespace
}  // namespace mpix::test
