/// Accumulates of the types that MPI_Type_create_f90_real and its like return.
#include <complex>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

/// Adds 1 + rank to two elements at every process, to the second one by a fetching update.
template <typename T>
void expect_sum(MPI_Datatype type) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  Window window(Flavour::allocate, 2 * sizeof(T));
  MPI_Win_lock_all(0, window);
  T const addend = static_cast<T>(1 + rank);
  T before = static_cast<T>(-1);
  for (int target = 0; target < size; ++target) {
    EXPECT_EQ(MPI_Accumulate(&addend, 1, type, target, window.at(target, 0), 1, type, MPI_SUM, window),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_accumulate(&addend, 1, type, &before, 1, type, target, window.at(target, sizeof(T)), 1,
                                 type, MPI_SUM, window),
              MPI_SUCCESS);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  T const sum = static_cast<T>(size * (size + 1) / 2);
  EXPECT_EQ(window.base<T>()[0], sum);
  EXPECT_EQ(window.base<T>()[1], sum);
}

TEST(F90Types, TakePartInAccumulates) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(6, 30, &type);
  expect_sum<float>(type);
  MPI_Type_create_f90_real(15, 300, &type);
  expect_sum<double>(type);
  MPI_Type_create_f90_complex(15, 300, &type);
  expect_sum<std::complex<double>>(type);
  MPI_Type_create_f90_integer(9, &type);
  expect_sum<int>(type);
  MPI_Type_create_f90_integer(18, &type);
  expect_sum<long>(type);
}

}  // namespace
}  // namespace mpixrma::test
