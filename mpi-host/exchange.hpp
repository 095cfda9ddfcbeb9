/// How the processes of MPI_COMM_WORLD find each other's engines: all addresses are exchanged when the host
/// starts.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/bootstrap.h"

namespace mpix::host {

/// The identity of a rank of MPI_COMM_WORLD at the engines.
constexpr std::uint64_t process_of(int world_rank) noexcept {
  return std::uint64_t{1} << 32 | static_cast<std::uint32_t>(world_rank);
}

class AddressTable {
 public:
  /// What the engine of `world_rank` starts with. This object outlives it.
  mpix_bootstrap bootstrap(int world_rank) noexcept;

  /// Collective, when the own engine has published its address or failed to start.
  void exchange(MPI_Comm world);

 private:
  static int publish(void* context, void const* address, std::size_t length);
  static int peer_address(void* context, std::uint64_t process, void const** address, std::size_t* length);

  std::vector<char> own_;
  std::vector<char> all_;
  std::vector<int> lengths_;        ///< by rank; 0 where there is no engine
  std::vector<int> displacements_;  ///< in all_
};

}  // namespace mpix::host
