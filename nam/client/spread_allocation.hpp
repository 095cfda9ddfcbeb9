/// Creates windows that are spread over several grants: all of their parts, or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nam/client/spread.hpp"

namespace mpixrma::nam {

/// Returns the distribution of a window with `regions` regions over as many of the grants as it can use.
Spread spread_over(std::vector<Locator> const& grants, std::size_t regions, std::uint64_t chunk_bytes);

/// Returns the result of `call`; an error names the part.
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

/// `makers` creates a part by allocate(part, sizes, units, options), returns by port(part) the port name of a
/// part, and makes a part persistent by make_persistent(part), after which the part outlives the process.
/// Exceptions of these functions pass through; the caller then ends the parts that were created.
template <typename Makers>
void make_parts(Spread const& spread, std::vector<std::uint64_t> const& sizes,
                std::vector<std::uint64_t> const& units, WindowOptions options, Makers& makers) {
  bool const persistent = options.persistent;
  options.chunk_bytes = spread.chunk_bytes();
  std::vector<std::string> others;
  // The first part, which leads to the others, is created last; until then the others end with this process.
  for (std::size_t part = spread.parts(); part-- > 0;) {
    options.persistent = persistent && part == 0;
    if (options.persistent) options.other_parts = others;
    for_part(part, spread.parts(), [&] {
      makers.allocate(part, spread.sizes_in_part(sizes, part), spread.elements_in_part(units, part), options);
    });
    if (persistent && part != 0) others.insert(others.begin(), makers.port(part));
  }
  for (std::size_t part = 1; persistent && part < spread.parts(); ++part)
    for_part(part, spread.parts(), [&] { makers.make_persistent(part); });
}

/// Allocates the parts by sessions, which `sessions` receives. Throws Error.
std::vector<WindowInfo> allocate_parts(std::vector<Locator> const& grants,
                                       std::vector<std::uint64_t> const& sizes,
                                       std::vector<std::uint64_t> const& units, WindowOptions const& options,
                                       std::vector<Session>* sessions);

}  // namespace mpixrma::nam
