#include "engine/peer/peer.hpp"

#include "engine/peer/peer_state.hpp"

namespace mpix::engine {

std::byte* MappedSegments::reach_smaller(RemoteAddress address, std::size_t bytes) const noexcept {
  std::byte* const found = medium_[place(address, medium_shift, medium_.size())].reach(address, bytes);
  return found != nullptr ? found : small_[place(address, small_shift, small_.size())].reach(address, bytes);
}

SegmentView MappedSegments::view(RemoteAddress address) const noexcept {
  MappedSegment const* const candidates[] = {&large_[place(address, large_shift, large_.size())],
                                             &medium_[place(address, medium_shift, medium_.size())],
                                             &small_[place(address, small_shift, small_.size())]};
  for (MappedSegment const* const candidate : candidates) {
    SegmentView const view = candidate->view();
    if (address - view.begin < view.length) return view;
  }
  return {};
}

Peer::Peer(std::uint64_t process) : process_(process), state_(std::make_unique<PeerState>()) {}
Peer::~Peer() = default;

}  // namespace mpix::engine
