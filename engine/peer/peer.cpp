#include "engine/peer/peer.hpp"

#include "engine/peer/peer_state.hpp"

namespace mpix::engine {

namespace {

/// A consistent copy of what stands in the slot; empty while it changes.
SegmentView read(MappedSegment const& segment) noexcept {
  auto const version = segment.version.load(std::memory_order_acquire);
  SegmentView const view{
      segment.begin.load(std::memory_order_relaxed), segment.length.load(std::memory_order_relaxed),
      segment.local.load(std::memory_order_relaxed), segment.owner_generation.load(std::memory_order_relaxed),
      segment.generation.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  bool const same = segment.version.load(std::memory_order_relaxed) == version && version % 2 == 0;
  return same ? view : SegmentView{};
}

}  // namespace

std::byte* MappedSegments::reach_smaller(RemoteAddress address, std::size_t bytes) const noexcept {
  std::byte* const found = reach(medium_[place(address, medium_shift, medium_.size())], address, bytes);
  return found != nullptr ? found : reach(small_[place(address, small_shift, small_.size())], address, bytes);
}

SegmentView MappedSegments::view(RemoteAddress address) const noexcept {
  MappedSegment const* const candidates[] = {&large_[place(address, large_shift, large_.size())],
                                             &medium_[place(address, medium_shift, medium_.size())],
                                             &small_[place(address, small_shift, small_.size())]};
  for (MappedSegment const* const candidate : candidates) {
    SegmentView const view = read(*candidate);
    if (address - view.begin < view.length) return view;
  }
  return {};
}

Peer::Peer(std::uint64_t process) : process_(process), state_(std::make_unique<PeerState>()) {}
Peer::~Peer() = default;

}  // namespace mpix::engine
