/// What the processes of a window know of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/operation.hpp"
#include "windows/hints.hpp"

namespace mpix::windows {

/// One rank; the bytes travel between processes.
struct RankEntry {
  std::uint64_t process = 0;      ///< identity at the engine
  std::uint64_t host = 0;         ///< the same at all processes of a host
  engine::ExposureId exposure{};  ///< that holds its memory, of the process of rank `owner`; none: no memory
  std::uint64_t offset = 0;       ///< of its memory in the exposure
  std::uint64_t size = 0;         ///< bytes
  engine::RemoteAddress control = 0;  ///< see ControlLayout
  std::uint32_t lock = 0;
  std::int32_t disp_unit = 1;
  std::int32_t owner = 0;
  std::int16_t error_class = 0;  ///< why the window cannot be made
  MemoryKind kind = MemoryKind::host;
  std::uint8_t unused = 0;
};
static_assert(sizeof(RankEntry) == 64);

/// A number by which processes of one host know each other.
std::uint64_t own_host();

/// All ranks: of this process alone while the window is made, then one for the processes of the host.
class RankTable {
 public:
  /// Of `ranks` ranks, for gathering.
  RankEntry* open(int ranks) {
    own_.resize(static_cast<std::size_t>(ranks));
    entries_ = own_;
    return own_.data();
  }
  /// While it is of this process alone.
  std::span<RankEntry> own() noexcept { return own_; }
  /// From here on it stands elsewhere.
  void move_to(RankEntry const* shared) noexcept {
    entries_ = {shared, own_.size()};
    own_ = {};
  }

  /// Since move_to().
  bool is_shared() const noexcept { return own_.empty(); }

  RankEntry const& operator[](int rank) const noexcept { return entries_[static_cast<std::size_t>(rank)]; }
  auto begin() const noexcept { return entries_.begin(); }
  auto end() const noexcept { return entries_.end(); }
  std::size_t bytes() const noexcept { return entries_.size_bytes(); }

 private:
  std::vector<RankEntry> own_;
  std::span<RankEntry const> entries_;
};

}  // namespace mpix::windows
