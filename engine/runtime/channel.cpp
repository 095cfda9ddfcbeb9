#include "engine/runtime/channel.hpp"

#include "engine/base/liveness.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/network.hpp"

namespace mpixrma::engine {

void Channel::handle_losses() {
  for (Connections::Loss const& loss : connections.take_losses()) {
    if (loss.was_refused) parting.report_refused(loss.process);
    // Remote keys must be destroyed before their endpoint.
    if (Peer* const peer = message_protocol.lose(loss)) {
      NetworkProtocol::lose(*peer);
      PeerState& state = peer->state();
      if (state.same_host && !process_is_alive(state.location.pid))
        lost_memory.release(state.segments->abandon());
    }
    executor.forget(loss.process);
    connections.close(loss.process);
    losses_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace mpixrma::engine
