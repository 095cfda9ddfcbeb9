/// The table of the ranks of a window, with their processes and memory.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "engine/net/address.hpp"
#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"
#include "mpi-windows/state/hints.hpp"

namespace mpixrma::windows {

/// The entry of one rank; its bytes are sent between processes.
struct RankEntry {
  std::uint64_t process = 0;      ///< identity in the engine
  std::uint64_t host = 0;         ///< equal at all processes of a host
  engine::ExposureId exposure{};  ///< exposure of its memory at the process of rank `owner`; none: no memory
  std::uint64_t offset = 0;       ///< offset of its memory in the exposure
  std::uint64_t size = 0;         ///< size in bytes
  engine::ExposureId control{};   ///< exposure of its control memory, see ControlLayout
  std::uint32_t lock_or_mapping_id = 0;  ///< its lock; for memory at a server: NamWindow::last_mapping_id
  std::int32_t disp_unit = 1;
  std::int32_t owner = 0;
  std::int16_t error_class = 0;  ///< error class of a failed creation
  MemoryKind kind = MemoryKind::host;
  std::uint8_t unused = 0;
};
static_assert(sizeof(RankEntry) == 64);

/// Returns a number that identifies the host among the hosts of a job.
std::uint64_t number_of(engine::HostIdentity const& host) noexcept;

/// Entries that are a linear function of the rank: the entry of rank 0, and the increments per rank. The
/// field `host` is not part of the pattern.
struct RankPattern {
  RankEntry first;
  std::uint64_t process_step = 0;  ///< modulo 2^64, like the identities
  std::uint64_t offset_step = 0;
  std::int32_t owner_step = 1;
  bool is_one_host = false;  ///< all ranks are on one host

  RankEntry at(int rank) const noexcept;
};

/// The result of comparing the entries of all processes.
struct Comparison {
  int error_class = MPI_SUCCESS;     ///< the highest of all processes
  bool is_pattern = false;           ///< the entries follow a pattern, except for the exposure ids
  bool same_ids = false;             ///< the exposure ids follow the pattern too
  engine::UnusedExposureIds unused;  ///< unused at all processes
  RankPattern pattern;               ///< with this process's exposure ids
};
/// Compares the entries of all processes. Collective; `mine` is the entry of this process, `rank` its rank,
/// and `unused` gives exposure ids that this process has not used.
Comparison compare(MPI_Comm comm, int rank, RankEntry const& mine, engine::UnusedExposureIds unused);

/// The table of all ranks: a pattern if they follow one, else entries, which are private while the window is
/// created and then shared by the processes of the host.
class RankTable {
 public:
  /// Iterates by rank.
  class Iterator {
   public:
    using value_type = RankEntry;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(RankTable const& table, int rank) noexcept : table_(&table), rank_(rank) {}
    RankEntry operator*() const noexcept { return (*table_)[rank_]; }
    Iterator& operator++() noexcept { return ++rank_, *this; }
    Iterator operator++(int) noexcept { return {*table_, rank_++}; }
    bool operator==(Iterator const&) const = default;
    int rank() const noexcept { return rank_; }

   private:
    RankTable const* table_ = nullptr;
    int rank_ = 0;
  };

  RankTable() = default;
  ~RankTable() { note_kept(0); }
  RankTable(RankTable const&) = delete;
  RankTable& operator=(RankTable const&) = delete;

  /// Allocates memory for the entries of `ranks` ranks, for open().
  void reserve(int ranks) { own_.reserve(static_cast<std::size_t>(ranks)); }
  /// Allocates entries for `ranks` ranks, to be filled by an allgather.
  RankEntry* open(int ranks);
  /// Represents all ranks by a pattern, without entries.
  void use_pattern(int ranks, RankPattern const& pattern) noexcept;
  /// Places all memory in one exposure of rank 0, in rank order. Only while the table is private.
  void use_single_exposure(engine::ExposureId exposure) noexcept;
  /// Makes the table refer to the same entries in other memory of this process, which others map.
  void refer_to(RankEntry const* published) noexcept;
  /// Makes the table refer to the same entries in mapped memory of another process. The table maps this
  /// memory a second time, because the mapping of the peer becomes empty when the peer ends. Without effect
  /// if the system refuses that.
  void share(RankEntry const* published) noexcept;

  /// Whether all ranks are on one host.
  bool is_one_host() const noexcept;
  bool has_entries() const noexcept { return !entries_.empty(); }
  /// True if the entries are in memory that the processes of the host share.
  bool is_shared() const noexcept { return has_entries() && own_.empty(); }

  RankEntry operator[](int rank) const noexcept {
    return has_entries() ? entries_[static_cast<std::size_t>(rank)] : pattern_.at(rank);
  }
  Iterator begin() const noexcept { return {*this, 0}; }
  Iterator end() const noexcept { return {*this, ranks_}; }
  RankEntry const* data() const noexcept { return entries_.data(); }
  std::size_t bytes() const noexcept { return entries_.size_bytes(); }

  /// Bytes of entries in all tables that this process stores.
  static std::uint64_t kept_bytes() noexcept { return all_kept.load(std::memory_order_relaxed); }

 private:
  void refer_to(RankEntry const* published, std::size_t kept) noexcept;
  void note_kept(std::size_t bytes) noexcept;

  static std::atomic<std::uint64_t> all_kept;

  int ranks_ = 0;
  RankPattern pattern_;
  std::vector<RankEntry> own_;
  engine::Mapping shared_;  ///< entries of another process, if the table refers to such
  std::span<RankEntry const> entries_;
  std::size_t kept_ = 0;  ///< in bytes
};

}  // namespace mpixrma::windows
