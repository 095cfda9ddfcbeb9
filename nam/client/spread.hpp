/// Windows that are spread over several grants, of one server or of several. Each part is a window in one of
/// the grants, and has the regions of every so many ranks: of parts 0 to n - 1, part r % n that of rank r.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nam/client/session.hpp"

namespace mpixrma::nam {

///
/// Or each region is cut in stripes: every part has a piece of each. Stripe i of region r is in part (r + i)
/// % n, so that small regions do not all begin in the same one; the stripes that a part has of a region
/// follow each other there.
class Spread {
 public:
  /// `stripe_bytes`: 0 where regions are not divided.
  explicit Spread(std::size_t parts, std::uint64_t stripe_bytes = 0)
      : parts_(parts), stripe_bytes_(stripe_bytes) {}

  std::size_t parts() const noexcept { return parts_; }
  std::uint64_t stripe_bytes() const noexcept { return stripe_bytes_; }
  /// That has the first byte of the region.
  std::size_t part_of(std::uint64_t rank) const noexcept { return rank % parts_; }
  /// Of the region among those of its part.
  std::uint64_t place_of(std::uint64_t rank) const noexcept {
    return stripe_bytes_ != 0 ? rank : rank / parts_;
  }

  /// Where a byte of a region is, and how many from there on follow each other.
  struct Location {
    std::size_t part;
    std::uint64_t place;   ///< of the region there
    std::uint64_t offset;  ///< in that
    std::uint64_t bytes;   ///< not looked at where the region ends
  };
  Location find(std::uint64_t rank, std::uint64_t offset) const noexcept;

  /// Of so many regions those that a part has.
  std::uint64_t share(std::uint64_t regions, std::size_t part) const noexcept {
    return stripe_bytes_ != 0 ? regions : (regions + parts_ - 1 - part) / parts_;
  }
  /// Of a region of so many bytes what a part has.
  std::uint64_t share_of_region(std::uint64_t rank, std::uint64_t bytes, std::size_t part) const noexcept;
  std::vector<std::uint64_t> share_of_sizes(std::vector<std::uint64_t> const& all, std::size_t part) const;
  /// Of something that each region has, be it divided or not, that of the part's.
  std::vector<std::uint64_t> share(std::vector<std::uint64_t> const& all, std::size_t part) const;

 private:
  std::size_t parts_;
  std::uint64_t stripe_bytes_;
};

/// The window that these are the parts of, in order.
Spread spread_of(std::vector<WindowInfo> const& parts);
/// Its regions, as those who have made it know them; their offsets mean nothing.
std::vector<WindowRegion> regions_of(std::vector<WindowInfo> const& parts);

/// The parts of the persistent window with this port name, which is that of the first one; a window in one
/// grant is its only part. `sessions`, if it is not null, receives those by which they were found.
/// Error(not_found): a part has gone, or its owner does not let this user see it; denied: its parts belong to
/// different users.
std::vector<WindowInfo> find_parts(std::string const& port, std::vector<Session>* sessions = nullptr);

}  // namespace mpixrma::nam
