#include "engine/origin/peer.hpp"

#include <utility>

#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

std::byte* MappedSegments::translate_smaller(RemoteAddress address, std::size_t bytes) const noexcept {
  std::byte* const found = medium_[place(address, medium_shift, medium_.size())].translate(address, bytes);
  return found != nullptr ? found
                          : small_[place(address, small_shift, small_.size())].translate(address, bytes);
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

// Together with its address, its entries in the engine's tables and the state of its rank in a communicator,
// a peer on another host takes less than 1 KiB.
static_assert(sizeof(Peer) + sizeof(PeerState) <= 448);

std::unique_ptr<Peer> Peer::make(std::uint64_t process, std::unique_ptr<PeerState> state) {
  if (!state->shares_memory) return std::make_unique<Peer>(process, std::move(state));
  StripeTable& stripes = state->segments->stripes();
  auto made = std::make_unique<LocalPeer>(process, std::move(state));
  made->stripes_ = &stripes;
  made->guard_.clear(remote_);
  return made;
}

Peer::Peer(std::uint64_t process, std::unique_ptr<PeerState> state)
    : process_(process), state_(std::move(state)) {
  guard_.raise(remote_);
}
Peer::~Peer() = default;

MappedSegment& Peer::slot(RemoteAddress address, std::size_t length) noexcept {
  return static_cast<LocalPeer*>(this)->mapped_.slot(address, length);
}

}  // namespace mpixrma::engine
