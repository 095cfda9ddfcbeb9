/// The common part of the tests of both ARMCI documents.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"
#include "tests/support/armci_memory.hpp"

namespace conformance {

/// Memory of every process, and this process's neighbours.
class Armci : public ::testing::Test {
 protected:
  static constexpr armci_size_t bytes = 1 << 17;

  Armci() {
    MPI_Comm_rank(MPI_COMM_WORLD, &me_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    next_ = (me_ + 1) % size_;
    before_ = (me_ + size_ - 1) % size_;
  }
  char* at(int process, std::ptrdiff_t offset = 0) const { return memory_.at(process, offset); }
  char* mine(std::ptrdiff_t offset = 0) const { return at(me_, offset); }
  template <typename T>
  T own(std::ptrdiff_t offset = 0) const {
    T value;
    std::memcpy(&value, mine(offset), sizeof value);
    return value;
  }

  /// 3 + 2 * 4 in the type's arithmetic.
  template <typename T>
  void accumulates(int type) {
    T const three(3);
    T two(2);
    T four(4);
    std::memcpy(mine(), &three, sizeof three);
    ARMCI_Barrier();
    EXPECT_EQ(ARMCI_Acc(type, &two, &four, at(next_), sizeof(T), next_), 0);
    ARMCI_Barrier();
    EXPECT_TRUE(own<T>() == T(11)) << "type " << type;
    ARMCI_Barrier();
  }

  int me_ = 0;
  int size_ = 0;
  int next_ = 0;
  int before_ = 0;
  mpixrma::test::Remote memory_{bytes};
};

}  // namespace conformance
