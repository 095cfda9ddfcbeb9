/// Sets of cores, and the affinity of the calling thread.
#pragma once

#include <bitset>
#include <string_view>

namespace mpixrma::engine {

using Cores = std::bitset<1024>;

/// Parses a list such as "0,2-3", in the format of /proc. Returns false if it is malformed.
bool parse_cores(std::string_view list, Cores* cores) noexcept;

/// Returns the cores that the calling thread may run on; none if they are unknown.
Cores cores_of_thread() noexcept;

/// Lets the calling thread run on these cores only. Returns false if the system refuses.
bool set_thread_affinity(Cores const& cores) noexcept;

}  // namespace mpixrma::engine
