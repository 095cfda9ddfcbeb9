/// The common part of the tests of the library's calls for windows at a memory server.
#pragma once

#include <mpix_rma.h>

#include "tests/windows/nam_support.hpp"

namespace mpixrma::test {

class NamCalls : public WindowTest {
 protected:
  NamCalls() { MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN); }
  ~NamCalls() override { MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL); }

  /// Returns the displacement unit of a rank.
  virtual int unit_of(int) const { return 8; }
  /// Returns the displacement of a rank's last element.
  MPI_Aint last(int rank) const { return rank * (8 / unit_of(rank)); }

  /// Makes a persistent window: rank r has r + 1 elements of 8 bytes, and 50 + r in the last one.
  std::string leave_window() {
    Info const info{{"deep_mem_kind", "deep_nam_persistent"}};
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(MPI_Win_allocate(8 * (rank_ + 1), unit_of(rank_), info.get(), world, nullptr, &window),
              MPI_SUCCESS);
    fill(window);
    std::string const port = value_of(window, "deep_win_port_name");
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
    return port;
  }
  void fill(MPI_Win window) const {
    long const value = 50 + rank_;
    MPI_Win_fence(0, window);
    EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, rank_, last(rank_), 1, MPI_LONG, window), MPI_SUCCESS);
    MPI_Win_fence(0, window);
  }
  /// Expects the content that fill() has written.
  void expect_window(MPI_Win window) const {
    MPI_Win_fence(0, window);
    for (int rank = 0; rank < size_; ++rank) {
      long value = 0;
      EXPECT_EQ(MPI_Get(&value, 1, MPI_LONG, rank, last(rank), 1, MPI_LONG, window), MPI_SUCCESS);
      MPI_Win_fence(0, window);
      EXPECT_EQ(value, 50 + rank);
    }
  }
  void expect_attributes(MPI_Win window) const {
    MPI_Aint* sizes = nullptr;
    int* units = nullptr;
    int found = 0;
    MPI_Win_get_attr(window, MPIX_WIN_SIZES, &sizes, &found);
    ASSERT_EQ(found, 1);
    MPI_Win_get_attr(window, MPIX_WIN_DISP_UNITS, &units, &found);
    ASSERT_EQ(found, 1);
    for (int rank = 0; rank < size_; ++rank) {
      EXPECT_EQ(sizes[rank], 8 * (rank + 1));
      EXPECT_EQ(units[rank], unit_of(rank));
    }
  }
  int connect(std::string const& port, int root, MPI_Comm comm, MPI_Comm* connection) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    Info const info{{"deep_win_connect", "true"}};
    // Only the root has the arguments.
    bool const has = rank == root;
    return MPI_Comm_connect(has ? port.c_str() : "", has ? info.get() : MPI_INFO_NULL, root, comm,
                            connection);
  }
};

}  // namespace mpixrma::test
