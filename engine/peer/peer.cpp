#include "engine/peer/peer.hpp"

#include "engine/peer/peer_state.hpp"

namespace mpix::engine {

Peer::Peer(std::uint64_t process) : process_(process), state_(std::make_unique<PeerState>()) {}
Peer::~Peer() = default;

}  // namespace mpix::engine
