/// How processes find each other's engines: those of MPI_COMM_WORLD exchange all their addresses when the
/// host starts, and groups that MPI connects later when it does.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/bootstrap.h"

namespace mpixrma::host {

/// Processes that have told this one who they are and how their engines are reached.
class KnownGroup {
 public:
  /// Collective over both groups of an intercommunicator, or over an intracommunicator: those of the remote
  /// group, or all. `process` and `address` are the own ones; no address: no engine.
  KnownGroup(MPI_Comm comm, std::uint64_t process, std::vector<char> const& address);
  KnownGroup(KnownGroup const&) = delete;
  KnownGroup& operator=(KnownGroup const&) = delete;
  ~KnownGroup();

  MPI_Group group() const noexcept { return group_; }

  /// Who has this rank in `group`; 0: none of these.
  std::uint64_t process_at(MPI_Group group, int rank) const;
  /// nullptr: this is none of them, or one without an engine.
  char const* address_of(std::uint64_t process, std::size_t& length) const noexcept;

 private:
  std::size_t index_of(std::uint64_t process) const noexcept;

  MPI_Group group_ = MPI_GROUP_NULL;
  // By rank in the group.
  std::vector<std::uint64_t> processes_;
  std::vector<int> lengths_;
  std::vector<int> displacements_;  ///< in addresses_
  std::vector<char> addresses_;
};

class AddressTable {
 public:
  /// Collective over MPI_COMM_WORLD: processes of other jobs that this one may meet have other identities.
  void name_job(MPI_Comm world);

  /// What the own engine starts with. This object outlives it.
  mpix_bootstrap bootstrap() noexcept;

  /// Collective, when the own engine has published its address or failed to start. What is kept is valid
  /// until forget(), and at least as long as this object.
  KnownGroup const& exchange(MPI_Comm comm);
  void forget(KnownGroup const& known);

  /// Who has this rank in `group`; 0: nobody who is known.
  std::uint64_t process_at(MPI_Group group, int rank);

 private:
  static int publish(void* context, void const* address, std::size_t length);
  static int peer_address(void* context, std::uint64_t process, void const** address, std::size_t* length);

  std::uint64_t process_ = 0;
  std::vector<char> own_;
  std::mutex lock_;  ///< of known_
  std::list<KnownGroup> known_;
  std::vector<char> asked_for_;  ///< the address that was asked for last
};

/// While the host runs; before and after nullptr.
AddressTable* addresses_of_job() noexcept;

}  // namespace mpixrma::host
