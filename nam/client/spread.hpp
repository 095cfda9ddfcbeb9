/// Windows that are spread over several grants, of one server or of several. Each part is a window in one of
/// the grants, and has the regions of every so many ranks: of parts 0 to n - 1, part r % n that of rank r.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nam/client/session.hpp"

namespace mpix::nam {

class Spread {
 public:
  explicit Spread(std::size_t parts) : parts_(parts) {}

  std::size_t parts() const noexcept { return parts_; }
  std::size_t part_of(std::uint64_t rank) const noexcept { return rank % parts_; }
  /// Of the region among those of its part.
  std::uint64_t place_of(std::uint64_t rank) const noexcept { return rank / parts_; }
  /// Of so many regions those that a part has.
  std::uint64_t share(std::uint64_t regions, std::size_t part) const noexcept {
    return (regions + parts_ - 1 - part) / parts_;
  }
  /// Of something that each region has, that of the part's.
  std::vector<std::uint64_t> share(std::vector<std::uint64_t> const& all, std::size_t part) const;

 private:
  std::size_t parts_;
};

/// The parts of the persistent window with this port name, which is that of the first one; a window in one
/// grant is its only part. `sessions`, if it is not null, receives those by which they were found.
/// Error(not_found): a part has gone, or its owner does not let this user see it; denied: its parts belong to
/// different users.
std::vector<WindowInfo> find_parts(std::string const& port, std::vector<Session>* sessions = nullptr);

}  // namespace mpix::nam
