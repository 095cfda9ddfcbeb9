/// With mpi_yield_when_idle, which mpirun sets for more processes than cores, a waiting process yields its
/// core.
#include <dlfcn.h>
#include <sched.h>

#include "tests/attacks/windows/attack.hpp"

namespace {
thread_local unsigned long yields = 0;
}  // namespace

extern "C" int sched_yield() noexcept {
  static auto* const system = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "sched_yield"));
  ++yields;
  return system();
}

namespace mpixrma::test {
namespace {

class Waiting : public WindowTest {};

TEST_F(Waiting, WinTestYieldsTheCoreWhenIdle) {
  Window window(Flavour::allocate, 64);
  MPI_Group others = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &others);
  MPI_Win_post(others, 0, window);
  MPI_Barrier(world);
  unsigned long const before = yields;
  for (int i = 0; i < 100; ++i) {
    int done = 0;
    EXPECT_EQ(MPI_Win_test(window, &done), MPI_SUCCESS);
    EXPECT_EQ(done, 0);  // this process has not opened its own access epoch
  }
  EXPECT_GT(yields, before);
  MPI_Win_start(others, 0, window);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
  MPI_Group_free(&others);
}

}  // namespace
}  // namespace mpixrma::test
