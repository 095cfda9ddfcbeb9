#include "mpi-windows/state/rank_table.hpp"

#include <algorithm>
#include <array>

#include "datatype/handle.hpp"
#include "hosts/common/hosted.h"

namespace mpixrma::windows {

namespace {

/// Returns the difference between the identities of ranks 1 and 0; 0 if one of them is unknown.
std::uint64_t process_step(MPI_Comm comm) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  auto const* const host = mpix_host_operations();
  bool const known = host->process_of_rank(word_of(comm), 0, &first) == 0 &&
                     host->process_of_rank(word_of(comm), 1, &second) == 0;
  return known ? second - first : 0;
}

/// Values for one MPI_MAX reduction that yields the maximum of each value and whether the value is the same
/// at all processes.
class MaxReduction {
 public:
  void add(std::uint64_t value) {
    words_[used_++] = value;
    words_[used_++] = ~value;
  }
  void reduce(MPI_Comm comm) {
    PMPI_Allreduce(MPI_IN_PLACE, words_.data(), static_cast<int>(used_), MPI_UINT64_T, MPI_MAX, comm);
  }
  /// Indexed in the order in which the values were added.
  std::uint64_t operator[](std::size_t index) const noexcept { return words_[2 * index]; }
  bool is_same(std::size_t index) const noexcept { return words_[2 * index] == ~words_[2 * index + 1]; }

 private:
  std::array<std::uint64_t, 24> words_{};
  std::size_t used_ = 0;
};

}  // namespace

std::uint64_t number_of(engine::HostIdentity const& host) noexcept {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  auto const add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (char const c : host.boot_id) add(static_cast<unsigned char>(c));
  add(host.ipc_namespace);
  add(host.pid_namespace);
  return hash;
}

RankEntry RankPattern::at(int rank) const noexcept {
  auto const number = static_cast<std::uint64_t>(rank);
  RankEntry entry = first;
  entry.process += number * process_step;
  entry.offset += number * offset_step;
  entry.owner += rank * owner_step;
  return entry;
}

Comparison compare(MPI_Comm comm, int rank, RankEntry const& mine, engine::UnusedExposureIds unused) {
  std::uint64_t const step = process_step(comm);
  std::uint64_t const first_process = mine.process - static_cast<std::uint64_t>(rank) * step;
  enum : std::size_t {
    error,
    slot,
    generation,
    exposure,
    control,
    host,
    process,
    owner,
    size,
    lock,
    unit,
    kind,
    values
  };
  MaxReduction all;
  for (std::uint64_t const value :
       {static_cast<std::uint64_t>(mine.error_class), std::uint64_t{unused.slot}, unused.generation,
        static_cast<std::uint64_t>(mine.exposure), static_cast<std::uint64_t>(mine.control), mine.host,
        first_process, static_cast<std::uint64_t>(mine.owner - rank), mine.size,
        std::uint64_t{mine.lock_or_mapping_id}, static_cast<std::uint64_t>(mine.disp_unit),
        static_cast<std::uint64_t>(mine.kind)})
    all.add(value);
  all.reduce(comm);
  Comparison found;
  found.error_class = static_cast<int>(all[error]);
  found.unused = {static_cast<std::uint32_t>(all[slot]), all[generation]};
  found.same_ids = all.is_same(exposure) && all.is_same(control);
  found.is_pattern = true;
  for (std::size_t value = process; value < values; ++value)
    found.is_pattern = found.is_pattern && all.is_same(value);
  found.pattern.first = mine;
  found.pattern.first.process = first_process;
  found.pattern.first.owner = 0;
  found.pattern.process_step = step;
  found.pattern.is_one_host = all.is_same(host);
  return found;
}

constinit std::atomic<std::uint64_t> RankTable::all_kept{0};

bool RankTable::is_one_host() const noexcept {
  if (!has_entries()) return pattern_.is_one_host;
  return std::ranges::all_of(entries_,
                             [this](RankEntry const& entry) { return entry.host == entries_[0].host; });
}

void RankTable::note_kept(std::size_t bytes) noexcept {
  all_kept.fetch_add(bytes - kept_, std::memory_order_relaxed);
  kept_ = bytes;
}

RankEntry* RankTable::open(int ranks) {
  ranks_ = ranks;
  own_.resize(static_cast<std::size_t>(ranks));
  entries_ = own_;
  note_kept(bytes());
  return own_.data();
}

void RankTable::use_pattern(int ranks, RankPattern const& pattern) noexcept {
  ranks_ = ranks;
  pattern_ = pattern;
  own_ = std::vector<RankEntry>();  // frees what reserve() has allocated
}

void RankTable::use_single_exposure(engine::ExposureId exposure) noexcept {
  pattern_.first.exposure = exposure;
  pattern_.owner_step = 0;
  pattern_.offset_step = pattern_.first.size;
  std::uint64_t offset = 0;
  for (RankEntry& entry : own_) {
    entry.exposure = exposure;
    entry.owner = 0;
    entry.offset = offset;
    offset += entry.size;
  }
}

void RankTable::refer_to(RankEntry const* published) noexcept { refer_to(published, bytes()); }

void RankTable::share(RankEntry const* published) noexcept {
  shared_ = engine::Mapping::second(reinterpret_cast<std::byte const*>(published), bytes());
  if (!shared_) return;
  std::size_t const before = shared_.length() - bytes();
  refer_to(reinterpret_cast<RankEntry const*>(shared_.base() + before), 0);
}

void RankTable::refer_to(RankEntry const* published, std::size_t kept) noexcept {
  entries_ = {published, own_.size()};
  own_ = std::vector<RankEntry>();  // unlike clear(), frees the memory
  note_kept(kept);
}

}  // namespace mpixrma::windows
