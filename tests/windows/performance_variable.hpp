/// Counts of the component, through MPI's tools interface.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

namespace mpixrma::test {

/// A variable of the whole process, in a handle of its own: each counter starts at 0 in each handle.
class PerformanceVariable {
 public:
  PerformanceVariable(char const* name, int variable_class) {
    int level = 0;
    int index = -1;
    int count = 0;
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_pvar_get_index(name, variable_class, &index), MPI_SUCCESS) << name;
    MPI_T_pvar_session_create(&session_);
    MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count);
    EXPECT_EQ(count, 1);
  }
  ~PerformanceVariable() {
    MPI_T_pvar_handle_free(session_, &handle_);
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  PerformanceVariable(PerformanceVariable const&) = delete;
  PerformanceVariable& operator=(PerformanceVariable const&) = delete;

  unsigned long long value() const {
    unsigned long long value = ~0ull;
    EXPECT_EQ(MPI_T_pvar_read(session_, handle_, &value), MPI_SUCCESS);
    return value;
  }

 private:
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handle_ = MPI_T_PVAR_HANDLE_NULL;
};

}  // namespace mpixrma::test
