#include "hosts/public-mpi/exchange.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <random>

namespace mpixrma::host {

namespace {

/// The fixed-size part of the exchange, which precedes the addresses.
struct AddressHeader {
  std::uint64_t process;
  std::uint64_t address_bytes;
};

/// Returns the group whose addresses an exchange over `comm` collects.
MPI_Group exchange_group(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  MPI_Group group = MPI_GROUP_NULL;
  inter != 0 ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group);
  return group;
}

}  // namespace

KnownGroup::KnownGroup(MPI_Comm comm, std::uint64_t process, std::vector<char> const& address)
    : group_(exchange_group(comm)) {
  int size = 0;
  PMPI_Group_size(group_, &size);
  AddressHeader const own{process, address.size()};
  std::vector<AddressHeader> headers(static_cast<std::size_t>(size));
  PMPI_Allgather(&own, sizeof own, MPI_BYTE, headers.data(), sizeof own, MPI_BYTE, comm);
  for (AddressHeader const& header : headers) {
    processes_.push_back(header.process);
    lengths_.push_back(static_cast<int>(header.address_bytes));
  }
  displacements_.resize(lengths_.size());
  std::exclusive_scan(lengths_.begin(), lengths_.end(), displacements_.begin(), 0);
  addresses_.resize(static_cast<std::size_t>(displacements_.back() + lengths_.back()));
  PMPI_Allgatherv(address.data(), static_cast<int>(address.size()), MPI_BYTE, addresses_.data(),
                  lengths_.data(), displacements_.data(), MPI_BYTE, comm);
}

KnownGroup::~KnownGroup() { PMPI_Group_free(&group_); }

std::uint64_t KnownGroup::process_at(MPI_Group group, int rank) const {
  int here = MPI_UNDEFINED;
  PMPI_Group_translate_ranks(group, 1, &rank, group_, &here);
  return here == MPI_UNDEFINED ? 0 : processes_[static_cast<std::size_t>(here)];
}

/// Tries the rank implied by consecutive identities first, which the processes of one job usually have.
std::size_t KnownGroup::index_of(std::uint64_t process) const noexcept {
  std::uint64_t const in_a_row = process - processes_.front();
  if (in_a_row < processes_.size() && processes_[in_a_row] == process) return in_a_row;
  return static_cast<std::size_t>(std::ranges::find(processes_, process) - processes_.begin());
}

char const* KnownGroup::address_of(std::uint64_t process, std::size_t& length) const noexcept {
  std::size_t const index = index_of(process);
  if (index == processes_.size() || lengths_[index] == 0) return nullptr;
  length = static_cast<std::size_t>(lengths_[index]);
  return addresses_.data() + displacements_[index];
}

void AddressTable::assign_identities(MPI_Comm world) {
  int rank = 0;
  PMPI_Comm_rank(world, &rank);
  std::uint32_t job = 0;
  if (rank == 0) {
    std::random_device random;
    while (job == 0) job = random();
  }
  PMPI_Bcast(&job, 1, MPI_UINT32_T, 0, world);
  process_ = std::uint64_t{job} << 32 | static_cast<std::uint32_t>(rank);
}

mpix_bootstrap AddressTable::bootstrap() noexcept {
  mpix_bootstrap bootstrap{};
  bootstrap.size = sizeof bootstrap;
  bootstrap.context = this;
  bootstrap.process = process_;
  bootstrap.publish = &publish;
  bootstrap.peer_address = &peer_address;
  return bootstrap;
}

int AddressTable::publish(void* context, void const* address, std::size_t length) try {
  auto const* const bytes = static_cast<char const*>(address);
  static_cast<AddressTable*>(context)->own_.assign(bytes, bytes + length);
  return 0;
} catch (std::bad_alloc const&) {
  return -1;
}

int AddressTable::peer_address(void* context, std::uint64_t process, void const** address,
                               std::size_t* length) try {
  auto& table = *static_cast<AddressTable*>(context);
  std::lock_guard const held(table.lock_);
  for (KnownGroup const& known : table.known_) {
    char const* const found = known.address_of(process, *length);
    if (found == nullptr) continue;
    table.last_lookup_.assign(found, found + *length);
    *address = table.last_lookup_.data();
    return 0;
  }
  return -1;
} catch (std::bad_alloc const&) {
  return -1;
}

KnownGroup const& AddressTable::exchange(MPI_Comm comm) {
  std::list<KnownGroup> made;
  made.emplace_back(comm, process_, own_);
  std::lock_guard const held(lock_);
  known_.splice(known_.end(), made);
  return known_.back();
}

void AddressTable::forget(KnownGroup const& known) {
  std::lock_guard const held(lock_);
  known_.remove_if([&](KnownGroup const& one) { return &one == &known; });
}

std::uint64_t AddressTable::process_at(MPI_Group group, int rank) {
  std::lock_guard const held(lock_);
  for (KnownGroup const& known : known_) {
    if (std::uint64_t const process = known.process_at(group, rank); process != 0) return process;
  }
  return 0;
}

}  // namespace mpixrma::host
