#include "mpi-host/exchange.hpp"

#include <new>
#include <numeric>

namespace mpix::host {

mpix_bootstrap AddressTable::bootstrap(int world_rank) noexcept {
  mpix_bootstrap bootstrap{};
  bootstrap.size = sizeof bootstrap;
  bootstrap.context = this;
  bootstrap.process = process_of(world_rank);
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
                               std::size_t* length) {
  auto const& table = *static_cast<AddressTable const*>(context);
  std::uint64_t const rank = process - process_of(0);
  if (rank >= table.lengths_.size() || table.lengths_[rank] == 0) return -1;
  *address = table.all_.data() + table.displacements_[rank];
  *length = static_cast<std::size_t>(table.lengths_[rank]);
  return 0;
}

void AddressTable::exchange(MPI_Comm world) {
  int size = 0;
  PMPI_Comm_size(world, &size);
  lengths_.resize(static_cast<std::size_t>(size));
  displacements_.resize(lengths_.size());
  int const own = static_cast<int>(own_.size());
  PMPI_Allgather(&own, 1, MPI_INT, lengths_.data(), 1, MPI_INT, world);
  std::exclusive_scan(lengths_.begin(), lengths_.end(), displacements_.begin(), 0);
  all_.resize(static_cast<std::size_t>(displacements_.back() + lengths_.back()));
  PMPI_Allgatherv(own_.data(), own, MPI_BYTE, all_.data(), lengths_.data(), displacements_.data(), MPI_BYTE,
                  world);
}

}  // namespace mpix::host
