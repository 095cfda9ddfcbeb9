/// The common part of programs one of whose ranks is killed.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>

namespace mpixrma::fault {

enum : int { origin, victim, other };

inline void require(bool holds, char const* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::fflush(stdout);
  ::_exit(1);
}

inline int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

}  // namespace mpixrma::fault
