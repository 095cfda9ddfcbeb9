/// Creations of windows at whose processes memory is missing.
#include "tests/windows/refused_memory.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

int create(Flavour flavour, long* memory, MPI_Win* window) {
  constexpr MPI_Aint bytes = sizeof *memory;
  void* base = nullptr;
  switch (flavour) {
    case Flavour::create: return MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, world, window);
    case Flavour::allocate: return MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, world, &base, window);
    case Flavour::shared: return MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, world, &base, window);
    default: return MPI_Win_create_dynamic(MPI_INFO_NULL, world, window);
  }
}

class Creation : public testing::TestWithParam<Flavour> {};

TEST_P(Creation, FailsAtAllRanksIfOneHasNoMemory) {
  if (GetParam() == Flavour::shared && !can_share()) GTEST_SKIP() << "no shared memory";
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  long memory = 0;
  MPI_Win window = MPI_WIN_NULL;
  for (Refused const what : refusable(size)) {
    // The first window opens the engine.
    ASSERT_EQ(create(GetParam(), &memory, &window), MPI_SUCCESS);
    MPI_Win_free(&window);
    for (int const lacking : {0, size - 1}) {
      {
        RefusedScope const scope(rank == lacking ? what : Refused::nothing);
        EXPECT_NE(create(GetParam(), &memory, &window), MPI_SUCCESS);
      }
      EXPECT_EQ(window, MPI_WIN_NULL);
      EXPECT_EQ(refusals, rank == lacking ? 1 : 0);
    }
  }
  ASSERT_EQ(create(GetParam(), &memory, &window), MPI_SUCCESS);
  MPI_Win_free(&window);
}

INSTANTIATE_TEST_SUITE_P(Flavours, Creation,
                         testing::Values(Flavour::create, Flavour::allocate, Flavour::shared,
                                         Flavour::dynamic),
                         [](auto const& flavour) { return name_of(flavour.param); });

}  // namespace
}  // namespace mpixrma::test
