/// The calls of MPI that complete arrays of requests, each called until all of an array are complete.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {

/// Completes an array whose operations have ended, and returns the number of failures that the calls report.
using Finish = int (*)(std::vector<MPI_Request>& requests);

inline int failures(MPI_Status const* statuses, int count) {
  return static_cast<int>(std::count_if(statuses, statuses + count,
                                        [](MPI_Status const& s) { return s.MPI_ERROR != MPI_SUCCESS; }));
}

inline int wait_for_all(std::vector<MPI_Request>& requests) {
  MPI_Status statuses[8];
  int const count = static_cast<int>(requests.size());
  EXPECT_EQ(MPI_Waitall(count, requests.data(), statuses), MPI_ERR_IN_STATUS);
  for (int i = 0; i < count; ++i) EXPECT_NE(class_of(statuses[i].MPI_ERROR), MPI_ERR_PENDING);
  return failures(statuses, count);
}

inline int test_all(std::vector<MPI_Request>& requests) {
  MPI_Status statuses[8];
  int const count = static_cast<int>(requests.size());
  int flag = 0;
  EXPECT_EQ(MPI_Testall(count, requests.data(), &flag, statuses), MPI_ERR_IN_STATUS);
  EXPECT_EQ(flag, 1);
  return failures(statuses, count);
}

template <auto call>
inline int some_at_a_time(std::vector<MPI_Request>& requests) {
  int reported = 0;
  for (std::size_t calls = 0; calls <= requests.size(); ++calls) {
    MPI_Status statuses[8];
    int indices[8];
    int done = 0;
    int const code = call(static_cast<int>(requests.size()), requests.data(), &done, indices, statuses);
    if (done == MPI_UNDEFINED) break;
    EXPECT_TRUE(code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS) << text_of(code);
    if (code == MPI_ERR_IN_STATUS) reported += failures(statuses, done);
  }
  return reported;
}

inline int wait_for_any(std::vector<MPI_Request>& requests) {
  int reported = 0;
  for (int index = 0; index != MPI_UNDEFINED;)
    if (MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
      ++reported;
  return reported;
}

inline int test_any(std::vector<MPI_Request>& requests) {
  int reported = 0;
  for (int index = 0, flag = 0; flag == 0 || index != MPI_UNDEFINED;)
    if (MPI_Testany(static_cast<int>(requests.size()), requests.data(), &index, &flag, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
      ++reported;
  return reported;
}

inline int wait_for_each(std::vector<MPI_Request>& requests) {
  int reported = 0;
  for (MPI_Request& request : requests)
    if (MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) ++reported;
  return reported;
}

}  // namespace mpixrma::test
