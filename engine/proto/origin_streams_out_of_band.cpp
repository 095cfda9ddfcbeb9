/// OriginStreams: operations that are sent ahead of others.
#include <optional>
#include <vector>

#include "engine/origin/peer_state.hpp"
#include "engine/proto/origin_streams.hpp"

namespace mpixrma::engine {

std::optional<Issued> OriginStreams::issue_out_of_band(Peer& peer, RmaOp const& operation) {
  if (Status const status = sessions_.ensure_session(peer); failed(status)) return Issued::ended(status);
  if (peer.state().messages.suspended) return std::nullopt;
  MessageOperation message = message_of(operation);
  message.header.context = operation.context;
  message.header.flags |= flags_for_execution(operation, StripeHolder::origin);
  // The acknowledgement of the stream may wait for an earlier message, which may wait for the stripes.
  if (!message.expects_data()) message.header.flags |= wire::flag_separate_reply;
  message.completes_when_executed = message.excluded_from_batch = true;
  message.completion = operation.completion;
  out_of_band_.reserve(out_of_band_.size() + 1);  // nothing may fail once the operation is tracked
  TrackedOperation& entry = tracked_.remember(peer, message);
  tracked_.note_sent(entry);
  std::uint64_t const fragments = count_fragments(entry.operation.target, message.total, limits_for(message));
  entry.last_sequence = peer.reserve(fragments);
  entry.first_sequence = entry.next_sequence = entry.last_sequence - fragments + 1;
  std::uint64_t const last = entry.last_sequence;
  tracked_.add_detached(entry);  // `unfinished` is in issue order and ends with unsent operations
  send_out_of_band(entry);
  return Issued{Status::ok, false, last};
}

/// Sends all messages of the entry ahead of unsent ones, which keep their earlier positions.
void OriginStreams::send_out_of_band(TrackedOperation& entry) {
  Peer& peer = *entry.peer;
  OriginStream& stream = peer.state().messages;
  if (stream.has_open_batch()) sender_.send_batch(peer);
  bool const overtakes = stream.unsent != nullptr;
  std::uint64_t const newest = stream.newest_sent;
  bool const delayed_ack = stream.newest_has_delayed_ack;
  std::uint64_t const first = entry.first_sequence;
  std::uint64_t const last = entry.last_sequence;
  MessageOperation const& operation = entry.operation;
  entry.next_sequence = last + 1;
  for (std::uint64_t sequence = first; sequence <= last; ++sequence) {
    auto const fragment = fragment_or_fail(peer, operation, entry.sent);
    if (!fragment) break;
    entry.sent += fragment->bytes;
    // Unsent operations fail when the lost connection is reported.
    if (failed(send_fragment(peer, operation, *fragment, sequence, nullptr))) break;
  }
  if (!overtakes) return;
  std::erase_if(out_of_band_, [&](auto const& known) { return known.first == &peer; });
  out_of_band_.emplace_back(&peer, last);
  stream.newest_sent = newest;
  stream.newest_has_delayed_ack = delayed_ack;
}

std::uint64_t OriginStreams::newest_out_of_band(Peer const& peer) const noexcept {
  for (auto const& [known, newest] : out_of_band_) {
    if (known == &peer) return newest;
  }
  return 0;
}

}  // namespace mpixrma::engine
