/// Makes one wrong call per run, with MPI's default error handler, which ends the job: bad_input.sh looks for
/// the message.
///
/// usage: bad_call --list | --expect NAME | --ends NAME | NAME
#include <mpi.h>
#include <mpix_rma.h>

#include <cstdio>
#include <cstring>

#include "tests/support/communicatable.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;
double value = 1;

struct Case {
  char const* name;
  char const* expected;
  void (*call)();
};

Case const cases[] = {
    {"rank", "MPIX_RMA_xfer: target_rank 7 is not in the communicator, which has 2 processes\n",
     [] {
       MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_DOUBLE, 7, &value, 1, MPI_DOUBLE, nullptr, &world, nullptr);
     }},
    {"no communicator", "] MPIX_RMA_Register: size -8 is not positive\n",
     [] { mpixrma::test::rma_register(&value, -8); }},
    {"collective", "MPIX_RMA_Set_num_notify: num -1 is negative\n",
     [] { mpixrma::test::rma_set_num_notify(world, -1); }},
};

}  // namespace

int main(int argc, char** argv) {
  bool const told = argc == 3;
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (Case const& one : cases) std::printf("%s\n", one.name);
    return 0;
  }
  for (Case const& one : cases) {
    if (std::strcmp(argv[argc - 1], one.name) != 0) continue;
    if (told && std::strcmp(argv[1], "--expect") == 0) std::printf("%s", one.expected);
    if (told) return 0;
    MPI_Init(&argc, &argv);
    one.call();
    MPI_Finalize();
    return 0;
  }
  return 2;
}
