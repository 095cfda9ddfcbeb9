/// The common part of the tests of namespace mpix: a communicator that returns errors, and memory at every
/// rank.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <complex>
#include <numeric>
#include <span>
#include <vector>

#include "include/mpix_rma.hpp"

namespace mpixrma::test {

/// Each rank writes to the memory of the next one, and the previous one writes to its memory.
class Cpp : public ::testing::Test {
 protected:
  Cpp() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    next_ = (rank_ + 1) % size_;
    previous_ = (rank_ + size_ - 1) % size_;
  }
  ~Cpp() override { MPI_Comm_free(&comm_); }

  /// Ends a phase: every rank's operations are complete at their targets.
  void complete_all() {
    mpix::complete(comm_);
    MPI_Barrier(comm_);
  }
  /// Allocates zeroed memory at every rank.
  template <typename T>
  mpix::allocation<T> zeroed(std::size_t count) {
    mpix::allocation<T> memory = mpix::allocate<T>(comm_, count);
    std::fill(memory.begin(), memory.end(), T{});
    MPI_Barrier(comm_);
    return memory;
  }
  /// Returns 1000 * (rank + 1) and the numbers that follow.
  static std::vector<double> series(int rank, std::size_t count) {
    std::vector<double> made(count);
    std::iota(made.begin(), made.end(), 1000.0 * (rank + 1));
    return made;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
  int next_ = 0;
  int previous_ = 0;
};

/// Returns the error class of the exception that `call` throws; MPI_SUCCESS if it throws none.
template <typename Call>
int thrown(Call call) {
  try {
    call();
  } catch (mpix::error const& failure) {
    EXPECT_NE(std::string(failure.what()), "");
    EXPECT_EQ(failure.what(), failure.status().message());
    return failure.status().error_class();
  }
  return MPI_SUCCESS;
}

}  // namespace mpixrma::test
