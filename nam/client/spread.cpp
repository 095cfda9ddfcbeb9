#include "nam/client/spread.hpp"

#include <utility>

#include "nam/client/follow.hpp"

namespace mpixrma::nam {

namespace {

/// Throws if the parts belong to different users: the creator of a window could name a window of another user
/// as a part, and so make a user with more rights access that window.
void check(WindowInfo const& first, WindowInfo const& part, std::string const& port) {
  if (part.owner != first.owner)
    throw Error(ErrorCode::denied, "the parts of window " + port + " belong to different users");
}

[[noreturn]] void refuse_parts(std::string const& port) {
  throw Error(ErrorCode::malformed, "the parts of window " + port + " do not belong together");
}

void check_distribution(std::vector<WindowInfo> const& parts, std::string const& port) {
  Spread const spread = spread_of(parts);
  std::uint64_t regions = parts.front().regions.size();
  if (spread.chunk_bytes() == 0) {
    regions = 0;
    for (WindowInfo const& part : parts) regions += part.regions.size();
  }
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].regions.size() != spread.regions_in_part(regions, part) ||
        parts[part].chunk_bytes != spread.chunk_bytes())
      refuse_parts(port);
  }
  if (spread.chunk_bytes() == 0) return;
  std::vector<WindowRegion> const whole = regions_of(parts);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::uint64_t rank = 0; rank < regions; ++rank) {
      if (parts[part].regions[rank].bytes != spread.bytes_in_part(rank, whole[rank].bytes, part))
        refuse_parts(port);
    }
  }
}

}  // namespace

Spread::Location Spread::find(std::uint64_t rank, std::uint64_t offset) const noexcept {
  if (chunk_bytes_ == 0) return {part_of(rank), place_of(rank), offset, UINT64_MAX - offset};
  std::uint64_t const chunk = offset / chunk_bytes_;
  std::uint64_t const within = offset % chunk_bytes_;
  return {part_of(rank % parts_ + chunk % parts_), rank, chunk / parts_ * chunk_bytes_ + within,
          chunk_bytes_ - within};
}

std::uint64_t Spread::bytes_in_part(std::uint64_t rank, std::uint64_t bytes,
                                    std::size_t part) const noexcept {
  if (chunk_bytes_ == 0) return part_of(rank) == part ? bytes : 0;
  std::uint64_t const first = (part + parts_ - part_of(rank)) % parts_;
  std::uint64_t const whole = bytes / chunk_bytes_;
  std::uint64_t const chunks = whole / parts_ + (first < whole % parts_ ? 1 : 0);
  return chunks * chunk_bytes_ + (first == whole % parts_ ? bytes % chunk_bytes_ : 0);
}

std::vector<std::uint64_t> Spread::sizes_in_part(std::vector<std::uint64_t> const& all,
                                                 std::size_t part) const {
  if (chunk_bytes_ == 0) return elements_in_part(all, part);
  std::vector<std::uint64_t> found;
  for (std::size_t rank = 0; rank < all.size(); ++rank) found.push_back(bytes_in_part(rank, all[rank], part));
  return found;
}

std::vector<std::uint64_t> Spread::elements_in_part(std::vector<std::uint64_t> const& all,
                                                    std::size_t part) const {
  if (chunk_bytes_ != 0) return all;
  std::vector<std::uint64_t> found;
  for (std::size_t rank = part; rank < all.size(); rank += parts_) found.push_back(all[rank]);
  return found;
}

Spread spread_of(std::vector<WindowInfo> const& parts) {
  return Spread(parts.size(), parts.front().chunk_bytes);
}

std::vector<WindowRegion> regions_of(std::vector<WindowInfo> const& parts) {
  Spread const spread = spread_of(parts);
  std::size_t ranks = 0;
  for (WindowInfo const& part : parts) ranks += part.regions.size();
  if (spread.chunk_bytes() != 0) ranks = parts.front().regions.size();
  std::vector<WindowRegion> regions;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    WindowRegion region = parts[spread.part_of(rank)].regions[spread.place_of(rank)];
    region.offset = 0;
    if (spread.chunk_bytes() != 0) {
      region.bytes = 0;
      for (WindowInfo const& part : parts) region.bytes += part.regions[rank].bytes;
    }
    regions.push_back(region);
  }
  return regions;
}

std::vector<WindowInfo> find_parts(std::string const& port, std::vector<Session>* sessions) {
  std::vector<WindowInfo> parts(1);
  std::vector<Session> used;
  used.push_back(Session::connect(port, &parts.front()));
  std::vector<std::string> const others = parts.front().other_parts;
  for (std::string const& other : others) {
    try {
      Address const server = followed(parse_locator(other).address, parse_locator(port).address);
      used.push_back(Session::connect(other, server, &parts.emplace_back()));
      parts.back().port = format(Locator{parts.back().grant, parts.back().id, server});
    } catch (Error const& error) {
      throw Error(error.code(), "part " + std::to_string(parts.size()) + " of " +
                                    std::to_string(others.size() + 1) + ": " + error.what());
    }
    check(parts.front(), parts.back(), port);
  }
  check_distribution(parts, port);
  if (sessions != nullptr) *sessions = std::move(used);
  return parts;
}

}  // namespace mpixrma::nam
