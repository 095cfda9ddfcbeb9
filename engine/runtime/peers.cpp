#include "engine/runtime/peers.hpp"

#include <mutex>
#include <new>

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

Peer* EnginePeers::find(std::uint64_t process) { return state_.peers.find(process, {}); }

Peer* EnginePeers::at(std::span<std::byte const> address) {
  ProcessAddress published;
  Secret secret;
  return read_published(address, &published, &secret) ? state_.peers.find(published.process, address)
                                                      : nullptr;
}

void EnginePeers::release(Peer& peer) { state_.peers.release(peer); }

void EnginePeers::fail_connections(std::uint64_t process) noexcept {
  Channel& channel = state_.channels.of(process);
  std::lock_guard const held(channel.lock);
  try {
    channel.fail_connection(process);
    // No event announces it to other threads.
    (void)channel.progress();
    channel.wake_agent_if_needed();
  } catch (std::bad_alloc const&) {  // messages to the process find out
  }
}

void EnginePeers::mark_unreachable_by_messages(Peer& peer) noexcept {
  Channel& channel = channel_of(peer);
  std::lock_guard const held(channel.lock);
  if (peer.state().messages.broken) return;
  try {
    channel.connections.mark_unreachable_by_messages(peer.process(), "a signal to it cannot be sent");
    (void)channel.progress();
    channel.wake_agent_if_needed();
  } catch (std::bad_alloc const&) {  // the next message fails
  }
}

void EnginePeers::require_messages(Peer& peer) noexcept {
  if (peer.requires_messages()) return;
  std::lock_guard const held(channel_of(peer).lock);
  peer.require_messages();
  // The notice of the loss did not contain this.
  if (peer.state().messages.broken) state_.loss_notices.announce(peer.process(), &peer);
}

bool EnginePeers::is_silent(std::uint64_t process) const {
  std::lock_guard const held(state_.peers.lock);
  Peer const* const peer = state_.peers.known(process);
  return peer != nullptr ? peer->is_silent() : state_.loss_notices.is_silent(process);
}

}  // namespace mpixrma::engine
