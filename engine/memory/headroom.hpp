/// How much memory a process may still take before the kernel has to kill somebody for it.
#pragma once

#include <cstdint>
#include <string>

namespace mpixrma::engine {

/// Bytes that the machine and every control group above this process have left, less a margin for what others
/// take meanwhile: a 32nd of each one's total, from 16 MiB to 1 GiB. Memory that holds cached files counts as
/// left. Where nothing is known there is no limit. `root` stands before /proc and /sys.
std::uint64_t memory_headroom(std::string const& root = {});

/// The same; 0 where there is not even memory to find out.
std::uint64_t memory_headroom_or_none() noexcept;

}  // namespace mpixrma::engine
