/// What the processes of a window know of each other.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"
#include "mpi-windows/state/hints.hpp"

namespace mpixrma::windows {

/// One rank; the bytes travel between processes.
struct RankEntry {
  std::uint64_t process = 0;      ///< identity at the engine
  std::uint64_t host = 0;         ///< the same at all processes of a host
  engine::ExposureId exposure{};  ///< that holds its memory, of the process of rank `owner`; none: no memory
  std::uint64_t offset = 0;       ///< of its memory in the exposure
  std::uint64_t size = 0;         ///< bytes
  engine::ExposureId control{};   ///< see ControlLayout
  std::uint32_t lock = 0;         ///< of memory at a server: NamWindow::mapped_before
  std::int32_t disp_unit = 1;
  std::int32_t owner = 0;
  std::int16_t error_class = 0;  ///< why the window cannot be made
  MemoryKind kind = MemoryKind::host;
  std::uint8_t unused = 0;
};
static_assert(sizeof(RankEntry) == 64);

/// A number by which processes of one host know each other.
std::uint64_t own_host();

/// Entries that follow from the rank: that of rank 0, and what each further rank adds. Without the hosts.
struct RankPattern {
  RankEntry first;
  std::uint64_t process_step = 0;  ///< modulo 2^64, as the identities
  std::uint64_t offset_step = 0;
  std::int32_t owner_step = 1;

  RankEntry at(int rank) const noexcept;
};

/// What the processes find when they compare their entries.
struct Comparison {
  int error_class = MPI_SUCCESS;  ///< the highest of all
  bool is_pattern = false;        ///< they follow from the rank, but for the names of what is exposed
  bool same_names = false;        ///< these, too
  engine::UnusedNames unused;     ///< at all of them
  RankPattern pattern;            ///< with this process's names
};
/// Collective, with `mine` of the process with rank `rank`, which has not used the names `unused`.
Comparison compare(MPI_Comm comm, int rank, RankEntry const& mine, engine::UnusedNames unused);

/// All ranks: a pattern where they have one, else entries, of this process alone while the window is made,
/// then one table for the processes of the host.
class RankTable {
 public:
  /// By rank.
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

  /// Of `ranks` ranks, for gathering.
  RankEntry* open(int ranks);
  /// Nothing is kept of each rank.
  void follow(int ranks, RankPattern const& pattern) noexcept;
  /// While it is of this process alone: all memory is one exposure of rank 0, part behind part.
  void place_in_one(engine::ExposureId exposure) noexcept;
  /// From here on the entries stand elsewhere; `kept`: for this process to keep.
  void move_to(RankEntry const* shared, bool kept) noexcept;

  bool has_entries() const noexcept { return !entries_.empty(); }
  /// Since move_to().
  bool is_shared() const noexcept { return has_entries() && own_.empty(); }

  RankEntry operator[](int rank) const noexcept {
    return has_entries() ? entries_[static_cast<std::size_t>(rank)] : pattern_.at(rank);
  }
  Iterator begin() const noexcept { return {*this, 0}; }
  Iterator end() const noexcept { return {*this, ranks_}; }
  RankEntry const* data() const noexcept { return entries_.data(); }
  std::size_t bytes() const noexcept { return entries_.size_bytes(); }

  /// Bytes of entries in all tables that this process keeps.
  static std::uint64_t kept_bytes() noexcept { return all_kept.load(std::memory_order_relaxed); }

 private:
  void note_kept(std::size_t bytes) noexcept;

  static std::atomic<std::uint64_t> all_kept;

  int ranks_ = 0;
  RankPattern pattern_;
  std::vector<RankEntry> own_;
  std::span<RankEntry const> entries_;
  std::size_t kept_ = 0;  ///< bytes
};

}  // namespace mpixrma::windows
