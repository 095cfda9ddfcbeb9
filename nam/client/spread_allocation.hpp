/// How a window comes to be that is spread over several grants: all of its parts, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nam/client/spread.hpp"

namespace mpixrma::nam {

/// Of a window with so many regions in as many of the grants as it can use.
Spread spread_over(std::vector<Locator> const& grants, std::size_t regions, std::uint64_t stripe_bytes);

/// What `call` returns; which part it was is in the error.
template <typename Call>
auto for_part(std::size_t part, std::size_t parts, Call call) {
  try {
    return call();
  } catch (Error const& error) {
    if (parts == 1) throw;
    throw Error(error.code(),
                "grant " + std::to_string(part + 1) + " of " + std::to_string(parts) + ": " + error.what());
  }
}

/// `makers` has a part made by allocate(part, sizes, units, wishes), says by port(part) which name it has
/// once it is kept, and keeps it by keep(part), after which it does not go with the process any more. Throws
/// what these throw; then the caller ends what was made.
template <typename Makers>
void make_parts(Spread const& spread, std::vector<std::uint64_t> const& sizes,
                std::vector<std::uint64_t> const& units, WindowWishes wishes, Makers& makers) {
  bool const persistent = wishes.persistent;
  wishes.stripe_bytes = spread.stripe_bytes();
  std::vector<std::string> others;
  // The others go with this process until the first one, which leads to them, is there. It is the last.
  for (std::size_t part = spread.parts(); part-- > 0;) {
    wishes.persistent = persistent && part == 0;
    if (wishes.persistent) wishes.other_parts = others;
    for_part(part, spread.parts(), [&] {
      makers.allocate(part, spread.share_of_sizes(sizes, part), spread.share(units, part), wishes);
    });
    if (persistent && part != 0) others.insert(others.begin(), makers.port(part));
  }
  for (std::size_t part = 1; persistent && part < spread.parts(); ++part)
    for_part(part, spread.parts(), [&] { makers.keep(part); });
}

/// By sessions, which `sessions` receives. Throws Error.
std::vector<WindowInfo> allocate_parts(std::vector<Locator> const& grants,
                                       std::vector<std::uint64_t> const& sizes,
                                       std::vector<std::uint64_t> const& units, WindowWishes const& wishes,
                                       std::vector<Session>* sessions);

}  // namespace mpixrma::nam
