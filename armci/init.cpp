/// Initialisation and finalisation.
#include <cstdio>

#include "armci/groups.hpp"
#include "armci/handles.hpp"
#include "armci/memory.hpp"
#include "armci/mutex.hpp"
#include "armci/settings.hpp"
#include "armci/state.hpp"
#include "engine/base/fork.hpp"
#include "mpix/comm/collective.hpp"
#include "mpix/runtime/runtime.hpp"

namespace armci {

namespace {

int initialisations = 0;
bool owns_mpi = false;

// A child made by fork() is not a member of the world.
mpixrma::engine::ChildHandler const child_handler{+[]() noexcept {
  world.communicator = nullptr;
  initialisations = 0;
}};

/// Initialises MPI unless it is initialised already.
void start_mpi(int thread_level) {
  char const* const call = "ARMCI_Init";
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) fail(call, "called after MPI_Finalize");
  int running = 0;
  MPI_Initialized(&running);
  if (running != 0) return;
  if (thread_level < MPI_THREAD_SINGLE || thread_level > MPI_THREAD_MULTIPLE)
    fail(call, "invalid thread level %d", thread_level);
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, thread_level, &provided);
  owns_mpi = true;
}

/// A program may have initialised MPI itself, with a lower thread level than it requests now.
void check_thread_level(int requested) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < requested)
    fail("ARMCI_Init", "thread level %d is not available, MPI runs at %d", requested, provided);
}

/// Collective over `comm`. Throws a Failure at every process if one process fails.
void open_world(MPI_Comm comm, int thread_level) {
  char const* const call = "ARMCI_Init";
  if (comm == MPI_COMM_NULL) fail(call, "the communicator is null");
  MPI_Comm_dup(comm, &world.comm);
  // ARMCI reports errors by its own return values.
  MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world.comm, &world.rank);
  set_reporting_rank(world.rank);
  MPI_Comm_size(world.comm, &world.size);
  mpixrma::open_engine();
  Steps local;
  local.run([&] { check_thread_level(thread_level); });
  local.run([&] {
    world.communicator = mpixrma::Communicator::find(world.comm);
    if (world.communicator == nullptr)
      fail(call, "the one-sided engine is not running: %s (docs/debugging.md)",
           mpixrma::why_no_engine().c_str());
    read_settings(world.rank);
  });
  check_collectively(call, world.comm, local);
  world.domains.open(settings.domains, world.comm);
  world.barrier.open("ARMCI_Init", world.comm);
  open_world_group();
}

/// Closes a world, also one whose initialisation failed.
void close_world() {
  close_world_group();
  world.barrier.close();
  world.domains.close();
  if (world.comm != MPI_COMM_NULL) MPI_Comm_free(&world.comm);
  world = World{};
  set_reporting_rank(world.rank);
}

}  // namespace

}  // namespace armci

using namespace armci;

int PARMCI_Init_thread_comm(int armci_requested, MPI_Comm comm) {
  if (initialisations > 0) {
    return return_code_of([&] {
      check_thread_level(armci_requested);
      ++initialisations;
      return 0;
    });
  }
  if (mpixrma::is_forked()) return return_code_of([]() -> int { fail_not_running("ARMCI_Init"); });
  int const code = return_code_of([&] {
    start_mpi(armci_requested);
    open_world(comm, armci_requested);
    return 0;
  });
  code == 0 ? void(++initialisations) : close_world();
  return code;
}

int PARMCI_Init_mpi_comm(MPI_Comm comm) {
  return return_code_of([&] { return PARMCI_Init_thread_comm(MPI_THREAD_SINGLE, comm); });
}
int PARMCI_Init_thread(int armci_requested) {
  return return_code_of([&] { return PARMCI_Init_thread_comm(armci_requested, MPI_COMM_WORLD); });
}
int PARMCI_Init(void) {
  return return_code_of([&] { return PARMCI_Init_thread(MPI_THREAD_SINGLE); });
}
int PARMCI_Init_args(int*, char***) {
  return return_code_of([&] { return PARMCI_Init(); });
}
int PARMCI_Initialized(void) { return initialisations > 0 ? 1 : 0; }

int PARMCI_Finalize(void) {
  if (initialisations == 0 || --initialisations > 0) return 0;
  // The later steps run even if an earlier one fails.
  Steps steps;
  steps.run([] { wait_for_all("ARMCI_Finalize"); });
  steps.run([] { complete_everywhere("ARMCI_Finalize"); });
  world.barrier.wait();
  destroy_global_mutexes();
  free_all_memory();
  int const code = return_code_of([&] {
    steps.check();
    return 0;
  });
  close_world();
  if (owns_mpi) MPI_Finalize();
  return code;
}

ARMCI_ALIAS(Init);
ARMCI_ALIAS(Init_args);
ARMCI_ALIAS(Init_mpi_comm);
ARMCI_ALIAS(Init_thread);
ARMCI_ALIAS(Init_thread_comm);
ARMCI_ALIAS(Initialized);
ARMCI_ALIAS(Finalize);

void ARMCI_Cleanup(void) {
  // The kernel frees anonymous shared memory with the process.
}

void ARMCI_Error(const char* msg, int code) {
  abort_on_failure([&] {
    char prefix[16] = "";
    if (world.rank >= 0) std::snprintf(prefix, sizeof prefix, "%d: ", world.rank);
    char const* const text = msg != nullptr ? msg : "(no message)";
    std::printf("%s%s %d\n", prefix, text, code);
    std::fflush(stdout);
    std::fprintf(stderr, "%s%s %d\n", prefix, text, code);
    ARMCI_Cleanup();
    end_program(code);
  });
}
