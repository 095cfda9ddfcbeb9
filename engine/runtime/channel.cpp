#include "engine/runtime/channel.hpp"

#include <new>
#include <utility>

#include "engine/base/liveness.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/network.hpp"
#include "engine/proto/unordered_transfers.hpp"

namespace mpixrma::engine {

void Channel::handle_losses() {
  while (connections.has_losses()) {
    Connections::Loss const loss = connections.take_loss();
    try {
      handle(loss);
    } catch (std::bad_alloc const&) {
      connections.return_loss(loss);  // progress() is called again
      throw;
    }
  }
}

void Channel::handle(Connections::Loss const& loss) {
  if (loss.message_rejected) eviction.report_rejected_message(loss.process);
  Peer* const known = message_protocol.sessions.peer_of(loss.process);
  bool const is_new = known != nullptr ? !known->state().messages.broken : loss.awaits_replies;
  Peer* const peer = message_protocol.handle_loss(loss);
  if (peer != nullptr) {
    lose_transfers(*peer);
    NetworkProtocol::lose_keys(*peer);  // before the endpoint is closed
  }
  executor.forget(loss.process);
  connections.close(loss.process);
  if (peer != nullptr && peer->state().shares_memory) release_memory_of(*peer);
  losses_.fetch_add(1, std::memory_order_relaxed);
  if (is_new) announce_(loss.process, peer);
}

/// A connection may be lost before its process has ended: a process that is killed closes its sockets first.
/// The end of the process is then a second loss, which releases the memory.
void Channel::release_memory_of(Peer& peer) {
  PeerState& state = peer.state();
  pid_t const pid = state.location.pid;
  if (!process_is_alive(pid)) {
    peer.mark_unreachable();
    return lost_memory.release(state.segments->abandon());
  }
  // Without a pidfd no event announces the end.
  if (watch.add(peer.process(), pid) && watch.must_poll()) wake_();
}

}  // namespace mpixrma::engine
