/// Engine: operations that neither loads and stores nor the kernel can execute.
#include <mutex>
#include <utility>

#include "engine/proto/target_access.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

/// Waits until another operation may be queued for the peer.
void Engine::wait_for_room(Peer& peer) {
  Channel& channel = channel_of(peer);
  wait_until(peer, [&] {
    std::lock_guard const held(channel.lock);
    return !channel.message_protocol.is_full(peer);
  });
}

/// Issues an operation that neither loads and stores nor the kernel can execute.
Issued Engine::issue_message(Peer& peer, RmaOp const& operation) {
  wait_for_room(peer);
  wait_for_lock_in_stream(peer, operation.target_layout, operation.guarantees);
  Channel& channel = channel_of(peer);
  // Before the lock, because a thread that waits for stripes must let messages through.
  StripeHold origin = hold_origin(peer, footprint_of(operation));
  std::unique_lock held(channel.lock);
  // UCX puts and gets have no position in the stream of messages: they must end before their successors
  // start.
  TargetAccess const access = access_of(operation);
  Predecessors const before = predecessors_of(peer, operation.guarantees, access);
  wait_for_network(peer, before.network, held);
  if (!operation.is_update()) {
    if (auto const issued = issue_network(peer, operation, before.message, held)) {
      note_access(peer, operation.guarantees, access, Path::network, *issued);
      channel.drive_network();
      return *issued;
    }
  }
  std::uint64_t const messages = channel.message_protocol.messages();
  Issued const issued = channel.message_protocol.issue(peer, operation, std::move(origin));
  note_access(peer, operation.guarantees, access, Path::message, issued);
  if (!failed(issued.status)) {
    count(peer, Path::message, operation);
    ask_for_key(peer, operation);
  }
  MessageStream const& stream = peer.state().messages;
  bool const joined =
      channel.message_protocol.messages() == messages && stream.is_joining() && stream.unsent == nullptr;
  channel.drive_issuing(joined);
  return issued;
}

}  // namespace mpixrma::engine
