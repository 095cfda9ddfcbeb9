/// Windows of longs at several memory servers, whose regions are filled with distinct values.
#pragma once

#include <numeric>

#include "tests/windows/nam_support.hpp"

namespace mpixrma::test {

class FilledWindows : public WindowTest {
 protected:
  FilledWindows() { MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN); }
  ~FilledWindows() override { MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL); }

  /// Returns the number of longs in a rank's region.
  virtual int longs_of(int rank) const = 0;

  static int allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Win* window) {
    int const code = MPIX_Win_allocate_nam(bytes, unit, info, world, window);
    if (code == MPI_SUCCESS) MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN);
    return code;
  }
  static long value_for(int rank, MPI_Aint i) { return 100000L * rank + i; }
  std::vector<long> values_for(int rank) const {
    std::vector<long> values(static_cast<std::size_t>(longs_of(rank)));
    std::iota(values.begin(), values.end(), value_for(rank, 0));
    return values;
  }
  /// Each rank fills the region of the next one. To be called in an epoch of locks.
  void fill(MPI_Win window) const {
    std::vector<long> const values = values_for(next_);
    auto const count = static_cast<int>(values.size());
    EXPECT_EQ(MPI_Put(values.data(), count, MPI_LONG, next_, 0, count, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(next_, window), MPI_SUCCESS);
    MPI_Barrier(world);
  }
  /// To be called in an epoch of locks.
  std::vector<long> content(MPI_Win window, int rank) const {
    std::vector<long> found(static_cast<std::size_t>(longs_of(rank)));
    auto const count = static_cast<int>(found.size());
    EXPECT_EQ(MPI_Get(found.data(), count, MPI_LONG, rank, 0, count, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(rank, window), MPI_SUCCESS);
    return found;
  }
  /// To be called in an epoch of locks.
  void expect_filled(MPI_Win window, int rank) const {
    EXPECT_EQ(content(window, rank), values_for(rank)) << rank;
  }

  /// Called by all processes of the communicator: expects all regions to have the sizes with which they were
  /// created, and the filled content.
  void expect_filled(std::string const& port, MPI_Comm comm) const {
    MPI_Win window = MPI_WIN_NULL;
    ASSERT_EQ(MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, comm, &window), MPI_SUCCESS);
    MPI_Win_lock_all(0, window);
    for (int rank = 0; rank < size_; ++rank) {
      MPI_Aint bytes = 0;
      int unit = 0;
      EXPECT_EQ(MPIX_Win_query(window, rank, &bytes, &unit), MPI_SUCCESS);
      EXPECT_EQ(bytes, longs_of(rank) * 8);
      EXPECT_EQ(unit, 8);
      expect_filled(window, rank);
    }
    MPI_Win_unlock_all(window);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
  /// Evicts the window. Called by all ranks when they have finished using the window.
  void evict_from_rank_0(std::string const& port) const {
    MPI_Barrier(world);
    if (rank_ == 0) evict(port);
  }
};

}  // namespace mpixrma::test
