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

/// Initializes MPI and bounds the time of the process. Returns the rank.
inline int begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  ::alarm(600);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline void print_result(char const* text) {
  std::puts(text);
  std::fflush(stdout);
}

/// Ends a surviving process without MPI_Finalize: collective calls need all processes.
[[noreturn]] inline void end() {
  ::usleep(200000);
  ::_exit(0);
}

}  // namespace mpixrma::fault
