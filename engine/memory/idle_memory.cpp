#include "engine/memory/idle_memory.hpp"

#include <algorithm>

#include "engine/memory/headroom.hpp"

namespace mpixrma::engine {

namespace {

// Memory that must be left for other processes, as a multiple of the memory that is kept.
constexpr std::size_t times_for_others = 8;
// Bytes kept between two checks, each of which costs as much as allocating a megabyte.
constexpr std::size_t kept_step_bytes = 64 * 1024 * 1024;

}  // namespace

bool IdleMemory::may_keep(std::size_t bytes, std::size_t kept) noexcept {
  if (kept > limit_ || bytes > limit_ - kept) return false;
  if (bytes > left_) {
    std::size_t const share = memory_headroom_or_none() / times_for_others;
    if (share < kept + bytes) return false;
    left_ = std::min(share - kept, std::max(kept_step_bytes, bytes));
  }
  left_ -= bytes;
  return true;
}

}  // namespace mpixrma::engine
