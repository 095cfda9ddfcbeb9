/// Engine: the segments of a peer.
#include <algorithm>
#include <mutex>
#include <optional>

#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

/// Asks the peer's agent, and waits for the answer.
Status Engine::ask_for_segment(Peer& peer, RemoteAddress address, wire::SegmentReply* answer) {
  std::unique_lock held(channel_of(peer).lock);
  OperationStreams& streams = channel_of(peer).message_protocol.streams;
  Outstanding* const question = streams.find_segment(peer, address);
  if (question == nullptr) return Status::unreachable;
  channel_of(peer).drive_until(held, [&] { return !question->live; });
  std::optional<wire::SegmentReply> const found = question->segment;
  streams.release(*question);
  if (!found) return Status::transport;
  *answer = *found;
  return Status::ok;
}

Status Engine::find_segment(Peer& peer, RemoteAddress address, SegmentInfo* info) {
  if (peer.state().same_host) {
    RemoteSegments::Found found;
    if (!peer.state().segments->find(address, &found)) return Status::bad_address;
    *info = {found.base, found.length};
    return Status::ok;
  }
  wire::SegmentReply answer{};
  if (Status const status = ask_for_segment(peer, address, &answer); failed(status)) return status;
  if (answer.is_gap != 0) return Status::bad_address;
  *info = {answer.base, answer.length};
  return Status::ok;
}

Status Engine::list_segments(Peer& peer, std::vector<SegmentInfo>* out) {
  if (peer.state().same_host) {
    peer.state().segments->list([out](PublishedRange const& range) {
      out->push_back({range.base, range.length});
    });
    std::ranges::sort(*out, {}, &SegmentInfo::base);
    return Status::ok;
  }
  // The answer for an address between segments has the range up to the next one.
  for (RemoteAddress address = 0;;) {
    wire::SegmentReply answer{};
    if (Status const status = ask_for_segment(peer, address, &answer); failed(status)) return status;
    if (answer.is_gap == 0) out->push_back({answer.base, answer.length});
    RemoteAddress const next = answer.base + answer.length;
    if (next <= address) return Status::ok;  // the end of the address space
    address = next;
  }
}

}  // namespace mpixrma::engine
