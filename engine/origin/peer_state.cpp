#include "engine/origin/peer_state.hpp"

#include <algorithm>

namespace mpixrma::engine {

namespace {

// Maximum number of requests in flight to a peer. Most are in batches, so that few of them wait in UCX.
constexpr std::uint64_t max_in_flight = 8192;

}  // namespace

bool OriginStream::is_executed(std::uint64_t sequence) const noexcept {
  // Operations of a lost connection fail one by one, once UCX has released their buffers.
  if (!broken && executed.load(std::memory_order_acquire) < sequence) return false;
  TrackedOperation const* const oldest = unfinished.front();
  return oldest == nullptr || oldest->last_sequence > sequence;
}

bool OriginStream::is_complete_locally(std::uint64_t sequence) const noexcept {
  if (broken) return unfinished.front() == nullptr;
  // Starts with the newest one, which is the most likely to be outstanding.
  for (TrackedOperation const* entry = unfinished.back(); entry != nullptr; entry = entry->previous) {
    if (entry->first_sequence <= sequence && !entry->buffers_released()) return false;
  }
  return true;
}

bool OriginStream::may_send() const noexcept {
  if (suspended) return false;
  return newest_sent - std::min(newest_sent, executed.load(std::memory_order_relaxed)) < max_in_flight &&
         credit.permits_another();
}

}  // namespace mpixrma::engine
