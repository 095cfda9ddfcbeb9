#include "hosts/public-mpi/connections.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>

#include "hosts/public-mpi/exchange.hpp"

namespace mpixrma::host {

namespace {

/// All processes are running, so the exchange takes milliseconds.
constexpr std::chrono::seconds connect_timeout{10};

/// The attribute of an intercommunicator and its duplicates; nullptr if the remote processes are not known.
using Known = std::shared_ptr<KnownGroup const>;

thread_local bool disconnects = false;  ///< this thread is in MPI_Comm_disconnect

/// Whether this process has, or has had, a communicator with processes of another job.
std::atomic<bool> is_connected{false};

int copy_known(MPI_Comm, int, void*, void* known, void* copy, int* flag) {
  auto* const made = new (std::nothrow) Known(*static_cast<Known*>(known));
  *static_cast<void**>(copy) = made;
  *flag = made != nullptr ? 1 : 0;
  return made != nullptr ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/// Frees the addresses of the remote group on MPI_Comm_disconnect only: after MPI_Comm_free, communicators
/// derived from this one may still connect the processes.
int on_communicator_deleted(MPI_Comm, int, void* known, void*) {
  if (disconnects) delete static_cast<Known*>(known);
  return MPI_SUCCESS;
}

int known_key() {
  static int const key = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(&copy_known, &on_communicator_deleted, &made, nullptr);
    return made;
  }();
  return key;
}

/// Whether another instance of this library, which intercepts the same call, has already exchanged the
/// addresses.
bool has_exchanged(MPI_Comm inter) {
  void* known = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(inter, known_key(), &known, &found);
  return found != 0;
}

void report_missing_processes() {
  std::fprintf(
      stderr,
      "MPIX_RMA: not all processes that MPI has connected with this one started the library within %lld "
      "s: the processes on the two sides cannot be targets of each other\n",
      static_cast<long long>(connect_timeout.count()));
}

/// Returns whether all processes of `group` were started with this process. Frees `group`.
bool is_of_own_job(MPI_Group group) {
  MPI_Group own = MPI_GROUP_NULL;
  MPI_Group others = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &own);
  PMPI_Group_difference(group, own, &others);
  int foreign_processes = 0;
  PMPI_Group_size(others, &foreign_processes);
  if (others != MPI_GROUP_EMPTY) PMPI_Group_free(&others);
  PMPI_Group_free(&own);
  PMPI_Group_free(&group);
  return foreign_processes == 0;
}

/// Returns the same result at all processes of the communicator.
bool is_of_one_job(MPI_Comm comm) {
  MPI_Group local = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &local);
  if (!is_of_own_job(local)) return false;
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter == 0) return true;
  MPI_Group remote = MPI_GROUP_NULL;
  PMPI_Comm_remote_group(comm, &remote);
  return is_of_own_job(remote);
}

}  // namespace

bool all_are_linked(MPI_Comm comm) noexcept {
  return !is_connected.load(std::memory_order_relaxed) || comm == MPI_COMM_NULL || is_of_one_job(comm);
}

void exchange_addresses(MPI_Comm inter) noexcept try {
  AddressTable* const addresses = addresses_of_job();
  if (addresses == nullptr || inter == MPI_COMM_NULL || has_exchanged(inter)) return;
  is_connected.store(true, std::memory_order_relaxed);
  auto known = std::make_unique<Known>();
  if (KnownGroup const* const remote = addresses->exchange(inter, connect_timeout)) {
    known->reset(remote, [addresses](KnownGroup const* group) { addresses->forget(*group); });
  } else {
    report_missing_processes();
  }
  PMPI_Comm_set_attr(inter, known_key(), known.release());
} catch (std::exception const& error) {
  std::fprintf(stderr, "MPIX_RMA: processes that MPI has connected cannot be targets of each other: %s\n",
               error.what());
}

void exchange_addresses_between_jobs(MPI_Comm inter) noexcept {
  if (inter != MPI_COMM_NULL && !is_of_one_job(inter)) exchange_addresses(inter);
}

DisconnectScope::DisconnectScope() noexcept { disconnects = true; }
DisconnectScope::~DisconnectScope() { disconnects = false; }

}  // namespace mpixrma::host
