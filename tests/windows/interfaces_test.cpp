/// One memory through two interfaces: MPI's windows, and MPIX_RMA.
#include "include/mpix_rma.h"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Interfaces : public FlavourTest {
 protected:
  Interfaces() { MPI_Comm_dup(world, &comm_); }
  ~Interfaces() override { MPI_Comm_free(&comm_); }

  /// Returns the address of the window's memory at a rank, in that rank's address space.
  static char* address(Window const& window, int rank) {
    MPI_Aint mine = 0;
    MPI_Get_address(window.base(), &mine);
    int size = 0;
    MPI_Comm_size(world, &size);
    std::vector<MPI_Aint> all(static_cast<std::size_t>(size));
    MPI_Allgather(&mine, 1, MPI_AINT, all.data(), 1, MPI_AINT, world);
    return reinterpret_cast<char*>(all[static_cast<std::size_t>(rank)]);
  }
  MPI_Comm comm_ = MPI_COMM_NULL;
};
MPIX_ON_EACH_FLAVOUR(Interfaces);

TEST_P(Interfaces, WindowIsReachedByAddress) {
  Window const window(GetParam(), 4096);
  char* const there = address(window, next_);
  long number = 9 + rank_;
  long back = -1;
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &number, 1, MPI_LONG, next_, there + 128, 1, MPI_LONG, nullptr,
                          &comm_, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&comm_, next_), MPI_SUCCESS);
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  MPI_Get(&back, 1, MPI_LONG, next_, window.at(next_, 128), 1, MPI_LONG, window);
  MPI_Win_unlock(next_, window);
  EXPECT_EQ(back, number);
}

TEST_P(Interfaces, AtomicsOfBothAreAtomicWithEachOther) {
  constexpr int rounds = 1000;
  Window const window(GetParam(), 4096);
  MPI_Aint const counter = reinterpret_cast<MPI_Aint>(address(window, 0));
  long const one = 1;
  double half = 0.5;
  MPIX_RMA_Attributes atomic{MPIX_RMA_ATTR_ATOMICITY, MPI_OP_NULL, nullptr, 0};
  long before = 0;
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < rounds; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, window.at(0, 0), MPI_SUM, window);
    MPIX_RMA_rmw(MPIX_RMW_SUM, const_cast<long*>(&one), 1, MPI_LONG, &before, 0, counter, nullptr, &comm_,
                 nullptr);
    MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, window.at(0, 8), 1, MPI_DOUBLE, MPI_SUM, window);
    MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &half, 1, MPI_DOUBLE, 0, reinterpret_cast<void*>(counter + 8), 1,
                  MPI_DOUBLE, nullptr, &comm_, &atomic);
    if (i % 16 == 0) {
      MPI_Win_flush(0, window);
      MPIX_RMA_Complete(&comm_, 0);
    }
  }
  MPIX_RMA_Complete(&comm_, MPIX_ALL_RANKS);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  if (rank_ == 0) {
    EXPECT_EQ(window.base<long>()[0], 2L * rounds * size_);
    EXPECT_EQ(window.base<double>()[1], 1.0 * rounds * size_);
  }
}

}  // namespace
}  // namespace mpixrma::test
