#include "engine/proto/message.hpp"

#include <new>
#include <utility>

#include "engine/origin/peer_state.hpp"
#include "engine/proto/network.hpp"
#include "engine/proto/unordered_transfers.hpp"

namespace mpixrma::engine {

void MessageProtocol::progress_due() {
  if (revocations.are_waiting()) revocations.acknowledge();
  if (streams.has_retries()) streams.retry();
  streams.progress_due();
}

void MessageProtocol::ucx_started() {
  for (std::uint64_t const process : std::exchange(sessions.waiting(), {})) {
    try {
      resume(process);
    } catch (std::bad_alloc const&) {
      connections_.mark_unreachable_by_messages(process, "no memory for the connection");
    }
  }
}

void MessageProtocol::ucx_failed() {
  // One by one: a call that lacks memory is repeated for the rest.
  std::vector<std::uint64_t>& waiting = sessions.waiting();
  for (; !waiting.empty(); waiting.pop_back())
    connections_.mark_unreachable_by_messages(waiting.back(), "UCX does not start in this process");
}

void MessageProtocol::take_addresses() {
  sessions.queries().take_results([this](AddressQueries::Result const& result) {
    Peer* const peer = sessions.peer_of(result.process);
    if (peer == nullptr || peer->state().messages.broken) return;
    // If the peer has connected in the meantime, its address is no longer needed.
    if (connections_.find_open(result.process) != nullptr || sessions.learn_address(*peer, result.address)) {
      resume(result.process);
    } else if (result.failure != nullptr) {
      connections_.mark_unreachable_by_messages(result.process, result.failure);
    } else {
      connections_.mark_unreachable_by_messages(result.process, "its address is not usable");
    }
  });
}

void MessageProtocol::add_peer(Peer& peer) {
  streams.reserve(sessions.peers() + 1);
  sessions.add_peer(peer);
}

bool MessageProtocol::remove_peer(Peer& peer) {
  progress_due();
  PeerState& state = peer.state();
  if (!state.messages.broken || state.messages.unfinished.front() != nullptr) return false;
  if (!state.transfers().pending.empty() || state.transfers().flushing) return false;
  if (tracked.has_detached(peer)) return false;
  NetworkProtocol::forget_keys(peer);
  streams.remove_peer(peer);
  revocations.forget(peer);
  sessions.remove_peer(peer);
  return true;
}

Peer* MessageProtocol::handle_loss(Connections::Loss const& loss) {
  Peer* const known = sessions.peer_of(loss.process);
  if (known == nullptr) return nullptr;
  Peer& peer = *known;
  OriginStream& stream = peer.state().messages;
  if (loss.messages_only && peer.state().shares_memory)
    peer.mark_unreachable_by_messages();
  else
    peer.mark_unreachable();
  if (stream.broken) return &peer;
  // At the end of a job peers disconnect one after the other: only lost operations make this an error.
  bool const idle = stream.is_executed(stream.delayed.newest_operation(peer.newest()));
  log_.write(idle ? LogLevel::life : LogLevel::error, "connection to process %s lost: %s",
             log_.name(loss.process).c_str(), loss.reason);
  stream.broken = true;
  stream.endpoint = nullptr;
  sender.discard_batch(peer);
  stream.suspended = false;
  sessions.queries().forget(loss.process);
  tracked.fail(peer);
  streams.note_due(peer);
  try {
    stream.untracked.fail(stream.executed.load(std::memory_order_relaxed), stream.errors);
  } catch (std::bad_alloc const&) {
    log_.write(LogLevel::error, "no memory to keep the failures of operations");
  }
  return &peer;
}

bool MessageProtocol::is_idle(std::uint64_t process) const noexcept {
  Peer* const peer = sessions.peer_of(process);
  if (peer == nullptr) return true;
  OriginStream const& stream = peer->state().messages;
  if (tracked.has_detached(*peer)) return false;
  // Messages with a delayed acknowledgement are not waited for, unless a lock request in the stream may be
  // among them.
  bool const acknowledged =
      stream.executed.load(std::memory_order_relaxed) >= stream.delayed.newest_undelayed(peer->newest()) &&
      !stream.may_wait_for_lock();
  bool const sent = stream.unfinished.front() == nullptr && !stream.has_open_batch();
  NetworkKeys const* const keys = peer->state().keys_if_any();
  bool const keys_in_use = revocations.concern(*peer) || (keys != nullptr && !keys->revoked.empty());
  return sent && acknowledged && !keys_in_use && peer->state().transfers().are_idle();
}

void MessageProtocol::flush_ended_puts(std::uint64_t process) {
  Peer* const peer = sessions.peer_of(process);
  if (peer == nullptr) return;
  UnorderedTransfers const& transfers = peer->state().transfers();
  if (transfers.pending.empty()) (void)ended_or_start_flush(*peer, transfers.issued);
}

std::uint64_t MessageProtocol::last_use(std::uint64_t process) const noexcept {
  Peer* const peer = sessions.peer_of(process);
  return peer != nullptr ? peer->state().messages.last_use : 0;
}

void MessageProtocol::suspend(std::uint64_t process) noexcept {
  if (Peer* const peer = sessions.peer_of(process)) peer->state().messages.suspended = true;
}

void MessageProtocol::forget_connection(std::uint64_t process) noexcept {
  Peer* const peer = sessions.peer_of(process);
  if (peer == nullptr) return;
  NetworkProtocol::forget_keys(*peer);
  peer->state().messages.endpoint = nullptr;
  revocations.forget(*peer);
}

/// Sends the operations issued while the stream was suspended, over a new connection if the last one is
/// closed.
void MessageProtocol::resume(std::uint64_t process) {
  Peer* const peer = sessions.peer_of(process);
  if (peer == nullptr) return;
  OriginStream& stream = peer->state().messages;
  stream.suspended = false;
  if (stream.unsent == nullptr) return;
  if (sessions.connect(*peer)) {
    streams.note_due(*peer);
  } else {
    connections_.mark_unreachable_by_messages(process, "the connection cannot be reopened");
  }
}

}  // namespace mpixrma::engine
