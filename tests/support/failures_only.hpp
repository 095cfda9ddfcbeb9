/// Output of the ranks of a test that do not print everything.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace mpixrma::test {

/// Prints failures with the rank, and nothing else.
class FailuresOnly : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(::testing::TestPartResult const& result) override {
    if (!result.failed()) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank,
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
                 result.summary());
  }
};

}  // namespace mpixrma::test
