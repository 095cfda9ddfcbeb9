#include "nam/client/spread.hpp"

#include <utility>

namespace mpix::nam {

namespace {

/// Whoever makes a window may name any other as its part, and have somebody use it who may do more.
void check(WindowInfo const& first, WindowInfo const& part, std::string const& port) {
  if (part.owner != first.owner)
    throw Error(ErrorCode::denied, "the parts of window " + port + " belong to different users");
}

void check_shares(std::vector<WindowInfo> const& parts, std::string const& port) {
  Spread const spread(parts.size());
  std::uint64_t regions = 0;
  for (WindowInfo const& part : parts) regions += part.regions.size();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].regions.size() != spread.share(regions, part))
      throw Error(ErrorCode::malformed, "the parts of window " + port + " are not those of one");
  }
}

}  // namespace

std::vector<std::uint64_t> Spread::share(std::vector<std::uint64_t> const& all, std::size_t part) const {
  std::vector<std::uint64_t> found;
  for (std::size_t rank = part; rank < all.size(); rank += parts_) found.push_back(all[rank]);
  return found;
}

std::vector<WindowInfo> find_parts(std::string const& port, std::vector<Session>* sessions) {
  std::vector<WindowInfo> parts(1);
  std::vector<Session> used;
  used.push_back(Session::connect(port, &parts.front()));
  std::vector<std::string> const others = parts.front().other_parts;
  for (std::string const& other : others) {
    try {
      used.push_back(Session::connect(other, &parts.emplace_back()));
    } catch (Error const& error) {
      throw Error(error.code(), "part " + std::to_string(parts.size()) + " of " +
                                    std::to_string(others.size() + 1) + ": " + error.what());
    }
    check(parts.front(), parts.back(), port);
  }
  check_shares(parts, port);
  if (sessions != nullptr) *sessions = std::move(used);
  return parts;
}

}  // namespace mpix::nam
