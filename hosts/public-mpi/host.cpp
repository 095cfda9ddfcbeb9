#include "hosts/public-mpi/host.hpp"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/runtime/mpix_engine.h"
#include "hosts/common/hosted.h"
#include "hosts/public-mpi/completer.hpp"
#include "hosts/public-mpi/connections.hpp"
#include "hosts/public-mpi/exchange.hpp"
#include "hosts/public-mpi/operations.hpp"
#include "hosts/public-mpi/parameters.hpp"
#include "hosts/public-mpi/requests.hpp"

namespace mpixrma::host {

namespace {

struct Host {
  Communicators communicators;
  AddressTable addresses;
  int local_processes = 1;  ///< processes of the job on this machine
  bool single_host = false;
  bool stays_on_host = false;
  bool shares_cores = false;
  bool is_running = false;
  pid_t const process = ::getpid();
};
/// Never destroyed, because a process may end without MPI_Finalize.
Host* host = nullptr;

constexpr std::chrono::seconds start_timeout{60};

/// Duplicates MPI_COMM_WORLD. A program of the job that is not linked with the library never takes part, so a
/// timeout aborts the job.
MPI_Comm duplicate_world() {
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Comm_idup(MPI_COMM_WORLD, &world, &request);
  if (!completes(request, start_timeout)) {
    std::fprintf(
        stderr,
        "MPIX_RMA: not all processes have started the library within %lld s of MPI_Init: every program "
        "of the job must be linked with it directly\n",
        static_cast<long long>(start_timeout.count()));
    PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  PMPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  return world;
}

/// Determines how many processes the job has on this machine, whether they share cores, and whether processes
/// of other machines may connect.
void query_placement(MPI_Comm world) {
  MPI_Comm here = MPI_COMM_NULL;
  PMPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  PMPI_Comm_size(here, &host->local_processes);
  // Combine the affinity masks: processes may be bound to cores of their own, or all to some cores.
  cpu_set_t cores;
  CPU_ZERO(&cores);
  (void)::sched_getaffinity(0, sizeof cores, &cores);
  cpu_set_t all = cores;
  PMPI_Allreduce(&cores, &all, sizeof cores / sizeof(unsigned long), MPI_UNSIGNED_LONG, MPI_BOR, here);
  PMPI_Comm_free(&here);
  long const usable = CPU_COUNT(&all) != 0 ? CPU_COUNT(&all) : ::sysconf(_SC_NPROCESSORS_ONLN);
  host->shares_cores = host->local_processes > usable;
  int size = 0;
  PMPI_Comm_size(world, &size);
  int* universe = nullptr;
  int given = 0;
  PMPI_Comm_get_attr(world, MPI_UNIVERSE_SIZE, &universe, &given);
  bool const full = given == 0 || *universe <= size;
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  host->single_host = host->local_processes == size && parent == MPI_COMM_NULL;
  host->stays_on_host = host->single_host && full;
}

/// Destroys the engine after a barrier, so that it serves processes that have not called MPI_Finalize yet. A
/// process whose engine did not start enters the barrier too, because the engines of others may have started.
int at_finalize(MPI_Comm, int, void*, void*) {
  if (host->process != ::getpid()) return MPI_SUCCESS;  // this is a child made by fork()
  PMPI_Barrier(host->communicators.world);
  if (mpix_engine_t* const engine = mpix_host_engine()) {
    Completer::instance().stop();
    mpix_engine_destroy(engine);
    mpix_host_offer(nullptr, nullptr);
  }
  host->is_running = false;
  PMPI_Comm_free(&host->communicators.world);
  PMPI_Comm_free(&host->communicators.self);
  return MPI_SUCCESS;
}

void configure(mpix_engine_config& config) {
  config.progress = [](void*) {
    progress_mpi();
    drain_completed();
  };
  config.yields_when_idle = [](void*) { return host->shares_cores ? 1 : 0; };
  config.thread_multiple = 1;
  if (host->stays_on_host) config.interfaces = "127.0.0.0/8";
  config.one_host = host->single_host ? 1 : 0;
}

/// Returns nullptr after recording the reason if the engine cannot start.
mpix_engine_t* make_engine() {
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  configure(config);
  int rank = 0;
  PMPI_Comm_rank(host->communicators.world, &rank);
  std::string notes;
  std::string const wrong = read_parameters(config, notes);
  mpix_host_read_environment(&config);
  if (rank == 0) std::fputs(notes.c_str(), stderr);
  if (!wrong.empty()) {
    mpix_host_set_unavailable(wrong.c_str());
    if (rank == 0) std::fprintf(stderr, "MPIX_RMA: %s; the library does not start\n", wrong.c_str());
    return nullptr;
  }
  if (config.network_hardware_expected != 0) config.defer_network = 0;
  if (rank != 0) config.network_hardware_expected = 0;  // one line for the job
  mpix_bootstrap const bootstrap = host->addresses.bootstrap();
  mpix_engine_t* engine = nullptr;
  int const status = mpix_engine_create(&config, &bootstrap, &engine);
  if (status == 0) return engine;
  char why[96];
  mpix_engine_create_failure_text(status, why, sizeof why);
  mpix_host_set_unavailable((std::string("the engine failed to start: ") + why).c_str());
  return nullptr;
}

/// Registers the shutdown for the beginning of MPI_Finalize, while all of MPI still works.
void register_finalize() {
  int key = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &key, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

/// Exchanges addresses with the parents of a spawned process; the parents do so in MPI_Comm_spawn.
void exchange_addresses_with_parents() {
  MPI_Comm parents = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parents);
  exchange_addresses(parents);
}

bool is_thread_multiple() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace

Communicators const& communicators() noexcept { return host->communicators; }
bool is_running() noexcept { return host != nullptr && host->is_running; }
bool shares_cores() noexcept { return host->shares_cores; }

AddressTable* addresses_of_job() noexcept { return is_running() ? &host->addresses : nullptr; }

bool completes(MPI_Request& request, std::chrono::seconds limit) noexcept {
  auto const began = std::chrono::steady_clock::now();
  int complete = 0;
  PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  while (complete == 0 && std::chrono::steady_clock::now() - began < limit) {
    ::sched_yield();
    PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  }
  return complete != 0;
}

void progress_mpi() noexcept {
  int flag = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, host->communicators.world, &flag, MPI_STATUS_IGNORE);
}

void start() noexcept try {
  if (host != nullptr) return;
  check_launcher();
  host = new Host;
  MPI_Comm const world = host->communicators.world = duplicate_world();
  host->addresses.assign_identities(world);
  PMPI_Comm_dup(MPI_COMM_SELF, &host->communicators.self);
  PMPI_Comm_set_errhandler(host->communicators.self, MPI_ERRORS_RETURN);
  query_placement(world);
  mpix_engine_t* engine = nullptr;
  if (is_thread_multiple()) {
    engine = make_engine();
  } else {
    mpix_host_set_unavailable("MPI does not provide MPI_THREAD_MULTIPLE, which this host requires");
  }
  host->addresses.exchange(world);
  register_finalize();
  host->is_running = true;
  if (engine != nullptr) {
    mpix_host_offer(engine, &host_operations());
    Completer::instance().start(engine);
  }
  exchange_addresses_with_parents();
} catch (std::exception const& error) {
  std::fprintf(stderr, "MPIX_RMA: the library does not start: %s\n", error.what());
  PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

}  // namespace mpixrma::host
