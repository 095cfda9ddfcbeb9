#include "engine/runtime/peers.hpp"

#include <mutex>
#include <new>

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

Peer* EnginePeers::find(std::uint64_t process) { return state_.peers.find(process, {}); }

Peer* EnginePeers::at(std::span<std::byte const> address) {
  ProcessAddress its;
  Secret secret;
  return read_published(address, &its, &secret) ? state_.peers.find(its.process, address) : nullptr;
}

void EnginePeers::release(Peer& peer) { state_.peers.release(peer); }

void EnginePeers::lose(std::uint64_t process) noexcept {
  Channel& channel = state_.channels.of(process);
  std::lock_guard const held(channel.lock);
  try {
    channel.lose(process);
    // No event announces it to other threads.
    (void)channel.progress();
    channel.wake_agent_if_needed();
  } catch (std::bad_alloc const&) {  // messages to the process find out
  }
}

}  // namespace mpixrma::engine
