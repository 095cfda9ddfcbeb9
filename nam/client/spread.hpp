/// Windows that are spread over several grants of one or more servers. Each part is a window in one of the
/// grants. With n parts, the region of rank r is in part r % n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nam/client/session.hpp"

namespace mpixrma::nam {

/// The distribution of a window's regions over its parts. Regions may be striped: then every part has a piece
/// of each region. Chunk i of region r is in part (r + i) % n, so that small regions do not all begin in the
/// same part; the chunks of a region within a part are contiguous there.
class Spread {
 public:
  /// `chunk_bytes` is 0 if regions are not striped.
  explicit Spread(std::size_t parts, std::uint64_t chunk_bytes = 0)
      : parts_(parts), chunk_bytes_(chunk_bytes) {}

  std::size_t parts() const noexcept { return parts_; }
  std::uint64_t chunk_bytes() const noexcept { return chunk_bytes_; }
  /// Returns the part with the first byte of the region.
  std::size_t part_of(std::uint64_t rank) const noexcept { return rank % parts_; }
  /// Returns the index of the region among those of its part.
  std::uint64_t place_of(std::uint64_t rank) const noexcept {
    return chunk_bytes_ != 0 ? rank : rank / parts_;
  }

  /// The location of a byte of a region, and the number of bytes that are contiguous from there.
  struct Location {
    std::size_t part;
    std::uint64_t place;   ///< index of the region in the part
    std::uint64_t offset;  ///< offset in that region
    std::uint64_t bytes;   ///< may extend beyond the end of the region
  };
  Location find(std::uint64_t rank, std::uint64_t offset) const noexcept;

  /// Returns how many of the window's `regions` regions have a place in the part.
  std::uint64_t regions_in_part(std::uint64_t regions, std::size_t part) const noexcept {
    return chunk_bytes_ != 0 ? regions : (regions + parts_ - 1 - part) / parts_;
  }
  /// Returns the number of bytes of a region of `bytes` bytes that are in the part.
  std::uint64_t bytes_in_part(std::uint64_t rank, std::uint64_t bytes, std::size_t part) const noexcept;
  std::vector<std::uint64_t> sizes_in_part(std::vector<std::uint64_t> const& all, std::size_t part) const;
  /// Returns the elements of `all`, one per region, that belong to the regions of the part.
  std::vector<std::uint64_t> elements_in_part(std::vector<std::uint64_t> const& all, std::size_t part) const;

 private:
  std::size_t parts_;
  std::uint64_t chunk_bytes_;
};

/// Returns the distribution of the window with these parts, in order.
Spread spread_of(std::vector<WindowInfo> const& parts);
/// Returns the regions of the whole window, in the order of its creators; their offsets are meaningless.
std::vector<WindowRegion> regions_of(std::vector<WindowInfo> const& parts);

/// Returns the parts of the persistent window with this port name, which is that of its first part; a window
/// in one grant is its only part. `sessions`, if not null, receives the sessions by which the parts were
/// found. Throws Error: not_found if a part is gone or not visible to this user; denied if the parts belong
/// to different users.
std::vector<WindowInfo> find_parts(std::string const& port, std::vector<Session>* sessions = nullptr);

}  // namespace mpixrma::nam
