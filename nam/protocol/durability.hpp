/// The durability of a persistent window, and its names in requests and in `mpix_nam_durability`.
#pragma once

#include <string_view>

namespace mpixrma::nam {

/// The failures that a persistent window survives.
enum class Durability {
  clients,  ///< the end of the processes that use it
  server,   ///< a crash of the server's processes
  storage   ///< a crash of the machine, from MPIX_Win_persist on
};

/// Throws Error(bad_request).
Durability parse_durability(std::string_view name);
char const* to_string(Durability durability) noexcept;

}  // namespace mpixrma::nam
