#include "hosts/public-mpi/exchange.hpp"

#include <algorithm>
#include <climits>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>

#include "hosts/public-mpi/host.hpp"

namespace mpixrma::host {

namespace {

/// Waits for a collective operation, at most as long as `limit`. Returns whether it is complete.
bool await(MPI_Request& request, std::optional<std::chrono::seconds> limit) {
  if (limit) return completes(request, *limit);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  return true;
}

}  // namespace

GatheredAddresses::GatheredAddresses(MPI_Comm comm, std::uint64_t process, std::vector<char> address)
    : comm_(comm), own_(std::move(address)), own_header_{process, own_.size()} {
  int inter = 0;
  int size = 0;
  PMPI_Comm_test_inter(comm_, &inter);
  inter != 0 ? PMPI_Comm_remote_size(comm_, &size) : PMPI_Comm_size(comm_, &size);
  headers_.resize(static_cast<std::size_t>(size));
}

/// Without blocking calls: a process whose limit has passed does not call the second operation, for which the
/// others must not wait for ever.
bool GatheredAddresses::gather(std::optional<std::chrono::seconds> limit) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Iallgather(&own_header_, sizeof own_header_, MPI_BYTE, headers_.data(), sizeof own_header_, MPI_BYTE,
                  comm_, &request);
  if (!await(request, limit)) return false;
  std::uint64_t bytes = 0;
  for (Header const& header : headers_) {
    processes_.push_back(header.process);
    lengths_.push_back(static_cast<int>(header.address_bytes));
    displacements_.push_back(static_cast<int>(bytes));
    bytes += header.address_bytes;
    if (bytes > INT_MAX) throw std::length_error("the addresses of all processes exceed 2 GiB");
  }
  addresses_.resize(bytes);
  PMPI_Iallgatherv(own_.data(), static_cast<int>(own_.size()), MPI_BYTE, addresses_.data(), lengths_.data(),
                   displacements_.data(), MPI_BYTE, comm_, &request);
  return await(request, limit);
}

MPI_Group GatheredAddresses::group() const {
  int inter = 0;
  PMPI_Comm_test_inter(comm_, &inter);
  MPI_Group group = MPI_GROUP_NULL;
  inter != 0 ? PMPI_Comm_remote_group(comm_, &group) : PMPI_Comm_group(comm_, &group);
  return group;
}

KnownGroup::KnownGroup(GatheredAddresses&& gathered)
    : group_(gathered.group()), gathered_(std::move(gathered)) {}

KnownGroup::~KnownGroup() { PMPI_Group_free(&group_); }

std::uint64_t KnownGroup::process_at(MPI_Group group, int rank) const {
  int here = MPI_UNDEFINED;
  PMPI_Group_translate_ranks(group, 1, &rank, group_, &here);
  return here == MPI_UNDEFINED ? 0 : gathered_.processes()[static_cast<std::size_t>(here)];
}

/// Tries the rank implied by consecutive identities first, which the processes of one job usually have.
std::size_t KnownGroup::index_of(std::uint64_t process) const noexcept {
  std::vector<std::uint64_t> const& all = gathered_.processes();
  std::uint64_t const in_a_row = process - all.front();
  if (in_a_row < all.size() && all[in_a_row] == process) return in_a_row;
  return static_cast<std::size_t>(std::ranges::find(all, process) - all.begin());
}

char const* KnownGroup::address_of(std::uint64_t process, std::size_t& length) const noexcept {
  std::size_t const index = index_of(process);
  if (index == gathered_.processes().size()) return nullptr;
  std::span<char const> const found = gathered_.address(index);
  length = found.size();
  return found.empty() ? nullptr : found.data();
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

KnownGroup const* AddressTable::exchange(MPI_Comm comm, std::optional<std::chrono::seconds> limit) {
  auto gathered = std::make_unique<GatheredAddresses>(comm, process_, own_);
  if (!gathered->gather(limit)) {
    (void)gathered.release();  // MPI still uses it
    return nullptr;
  }
  std::list<KnownGroup> made;
  made.emplace_back(std::move(*gathered));
  std::lock_guard const held(lock_);
  known_.splice(known_.end(), made);
  return &known_.back();
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
