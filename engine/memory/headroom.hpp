/// The amount of memory that a process may still allocate before the kernel has to kill a process.
#pragma once

#include <cstdint>
#include <string>

namespace mpixrma::engine {

/// Returns the smallest number of free bytes among the machine and the cgroups above this process, each less
/// a margin for concurrent allocations: a 32nd of its total, from 16 MiB to 1 GiB. Memory with cached files
/// counts as free. UINT64_MAX if nothing is known. `root` is prepended to /proc and /sys.
std::uint64_t memory_headroom(std::string const& root = {});

/// As memory_headroom(); returns 0 if there is not even enough memory for the check.
std::uint64_t memory_headroom_or_none() noexcept;

}  // namespace mpixrma::engine
