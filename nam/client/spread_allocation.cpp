#include "nam/client/spread_allocation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace mpixrma::nam {

namespace {

struct SessionParts {
  std::vector<Locator> const& grants;
  std::vector<std::optional<Session>> sessions;
  std::vector<WindowInfo> windows;

  SessionParts(std::vector<Locator> const& all, std::size_t parts)
      : grants(all), sessions(parts), windows(parts) {}

  void allocate(std::size_t part, std::vector<std::uint64_t> const& sizes,
                std::vector<std::uint64_t> const& units, WindowOptions const& options) {
    sessions[part].emplace(Session::open(grants[part]));
    windows[part] = sessions[part]->allocate(sizes, units, options);
  }
  std::string port(std::size_t part) const {
    return format(Locator{grants[part].grant, windows[part].id, grants[part].address});
  }
  void make_persistent(std::size_t part) { sessions[part]->make_persistent(&windows[part]); }

  /// Non-persistent parts end with their sessions.
  void end() noexcept {
    for (std::size_t part = 0; part < windows.size(); ++part) {
      try {
        if (windows[part].persistent)
          (void)Client(grants[part].address).request({{"op", "evict"}, {"port", windows[part].port}});
      } catch (std::exception const&) {  // the part's server may have ended
      }
    }
  }
};

}  // namespace

/// Striped regions use all grants.
Spread spread_over(std::vector<Locator> const& grants, std::size_t regions, std::uint64_t chunk_bytes) {
  return Spread(chunk_bytes != 0 ? grants.size() : std::min(grants.size(), regions),
                grants.size() > 1 ? chunk_bytes : 0);
}

std::vector<WindowInfo> allocate_parts(std::vector<Locator> const& grants,
                                       std::vector<std::uint64_t> const& sizes,
                                       std::vector<std::uint64_t> const& units, WindowOptions const& options,
                                       std::vector<Session>* sessions) {
  Spread const spread = spread_over(grants, sizes.size(), options.chunk_bytes);
  SessionParts parts(grants, spread.parts());
  try {
    make_parts(spread, sizes, units, options, parts);
  } catch (...) {
    parts.end();
    throw;
  }
  sessions->clear();
  for (auto& session : parts.sessions) sessions->push_back(std::move(*session));
  return std::move(parts.windows);
}

}  // namespace mpixrma::nam
