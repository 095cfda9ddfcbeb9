/// The exchange of engine addresses: the processes of MPI_COMM_WORLD exchange all addresses when the MPI host
/// starts, and groups that MPI connects later exchange theirs when they connect.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/bootstrap.h"

namespace mpixrma::host {

/// The processes of a group and the addresses of their engines, collected over a communicator: those of the
/// remote group of an intercommunicator, or all of an intracommunicator.
class GatheredAddresses {
 public:
  /// `process` and `address` are those of the caller; an empty address means that the caller has no engine.
  GatheredAddresses(MPI_Comm comm, std::uint64_t process, std::vector<char> address);

  /// Collective. Returns false if some process does not take part within `limit`, if there is one: MPI may
  /// use this object for ever then, so it must not be destroyed.
  bool gather(std::optional<std::chrono::seconds> limit);

  MPI_Group group() const;
  std::vector<std::uint64_t> const& processes() const noexcept { return processes_; }
  /// Empty if the process with this index has no engine.
  std::span<char const> address(std::size_t index) const noexcept {
    return std::span(addresses_)
        .subspan(static_cast<std::size_t>(displacements_[index]), static_cast<std::size_t>(lengths_[index]));
  }

 private:
  /// The fixed-size part of the exchange, which precedes the addresses.
  struct Header {
    std::uint64_t process;
    std::uint64_t address_bytes;
  };

  MPI_Comm comm_;
  std::vector<char> own_;
  Header own_header_;
  std::vector<Header> headers_;
  // Indexed by the rank in the group.
  std::vector<std::uint64_t> processes_;
  std::vector<int> lengths_;
  std::vector<int> displacements_;  ///< offsets in addresses_
  std::vector<char> addresses_;
};

/// A group of processes with their identities and the addresses of their engines.
class KnownGroup {
 public:
  explicit KnownGroup(GatheredAddresses&& gathered);
  KnownGroup(KnownGroup const&) = delete;
  KnownGroup& operator=(KnownGroup const&) = delete;
  ~KnownGroup();

  MPI_Group group() const noexcept { return group_; }

  /// Returns the process with this rank in `group`, or 0 if this KnownGroup does not contain the process.
  std::uint64_t process_at(MPI_Group group, int rank) const;
  /// Returns nullptr if the process is not in this group or has no engine.
  char const* address_of(std::uint64_t process, std::size_t& length) const noexcept;

 private:
  std::size_t index_of(std::uint64_t process) const noexcept;

  MPI_Group group_ = MPI_GROUP_NULL;
  GatheredAddresses gathered_;
};

class AddressTable {
 public:
  /// Collective over MPI_COMM_WORLD: gives this job's processes identities that differ from those of other
  /// jobs.
  void assign_identities(MPI_Comm world);

  /// Returns the bootstrap of this process's engine, which this object must outlive.
  mpix_bootstrap bootstrap() noexcept;

  /// Collective; call it after this process's engine has published its address or failed to start. The result
  /// is valid until forget(), or until this object is destroyed; nullptr if some process does not take part
  /// within `limit`.
  KnownGroup const* exchange(MPI_Comm comm, std::optional<std::chrono::seconds> limit = {});
  void forget(KnownGroup const& known);

  /// Returns the process with this rank in `group`, or 0 if it is unknown.
  std::uint64_t process_at(MPI_Group group, int rank);

 private:
  static int publish(void* context, void const* address, std::size_t length);
  static int peer_address(void* context, std::uint64_t process, void const** address, std::size_t* length);

  std::uint64_t process_ = 0;
  std::vector<char> own_;
  std::mutex lock_;  ///< protects known_ and last_lookup_
  std::list<KnownGroup> known_;
  std::vector<char> last_lookup_;  ///< the most recently requested address, valid until the next request
};

/// Returns nullptr while the MPI host is not running.
AddressTable* addresses_of_job() noexcept;

}  // namespace mpixrma::host
