/// Starts processes that run the program spawned.cpp with a given part.
#pragma once

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <string>

namespace mpixrma::test {

// Open MPI 4.1 with PMIx 4.2 occasionally never starts a spawned program.
constexpr unsigned spawn_seconds = 20;

/// Starts `program` with the argument `part`. Ends the process, and marks the test as skipped, if MPI does
/// not return.
inline MPI_Comm spawn(char const* part, int processes, char const* program = MPIX_SPAWNED) {
  auto const give_up = [](int) {
    constexpr char line[] = "SKIPPED: MPI_Comm_spawn does not return\n";
    (void)!::write(STDOUT_FILENO, line, sizeof line - 1);
    ::_exit(77);
  };
  std::string argument = part;
  char* arguments[] = {argument.data(), nullptr};
  MPI_Comm children = MPI_COMM_NULL;
  ::signal(SIGALRM, give_up);
  ::alarm(spawn_seconds);
  MPI_Comm_spawn(program, arguments, processes, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(60);
  return children;
}

}  // namespace mpixrma::test
