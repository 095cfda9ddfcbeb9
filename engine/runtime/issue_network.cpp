/// Engine: operations by UCX put and get, and the state of a peer that they need.
#include <new>
#include <optional>

#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

/// Waits with the lock of the peer's channel held, which other threads acquire in between.
template <typename Predicate>
void Engine::drive_until(Peer& peer, std::unique_lock<std::mutex>& held, Predicate done) {
  if (done()) return;
  Channel& channel = channel_of(peer);
  do {
    channel.drive_waiting();
    held.unlock();
    held.lock();
  } while (!done());
  channel.leave();
}

/// Waits until every operation by UCX put and get up to `number` has ended.
void Engine::wait_for_network(Peer& peer, std::uint64_t number, std::unique_lock<std::mutex>& held) {
  drive_until(peer, held, [&] { return NetworkProtocol::reached(peer, number); });
}

/// Issues once the message `after` is executed. nullopt: the path does not apply.
std::optional<Issued> Engine::issue_network(Peer& peer, RmaOp const& transfer, std::uint64_t after,
                                            std::unique_lock<std::mutex>& held) {
  if (!state_->network_usable || peer.state().same_host) return std::nullopt;
  bool const named = transfer.exposed.target != ExposureId::none;
  return named ? issue_network_at_exposure(peer, transfer, after, held)
               : issue_network_at_address(peer, transfer, after, held);
}

/// nullopt: the key is not known, or the path is unsuitable.
std::optional<Issued> Engine::issue_network_at_address(Peer& peer, RmaOp const& transfer, std::uint64_t after,
                                                       std::unique_lock<std::mutex>& held) {
  if (!NetworkProtocol::suits(transfer)) return std::nullopt;
  if (NetworkProtocol::find_key(peer, transfer) == nullptr) return std::nullopt;
  // Messages that must be executed before this operation take another path.
  MessageStream const& stream = peer.state().messages;
  drive_until(peer, held,
              [&] { return !stream.suspended && channel_of(peer).message_protocol.await(peer, after); });
  // While the lock was released, the key may have been revoked or the connection lost.
  RemoteKey* const key = NetworkProtocol::find_key(peer, transfer);
  RemoteExposure* const exposure = NetworkProtocol::find_exposure(peer, transfer);
  bool const gone = transfer.exposed.target != ExposureId::none && exposure == nullptr;
  if (key == nullptr || gone || stream.broken) return std::nullopt;
  peer.state().messages.last_use = peer.state().channel->connections.note_use();
  Issued const issued = NetworkProtocol::issue(peer, transfer, *key);
  if (exposure != nullptr) exposure->newest_use = key->newest_use;
  if (!failed(issued.status))
    peer.state().traffic.add_operation(Path::network, transfer.target_layout.size());
  return issued;
}

/// nullopt: the path does not apply; if the exposure is the reason, the agent reports the error.
std::optional<Issued> Engine::issue_network_at_exposure(Peer& peer, RmaOp const& transfer,
                                                        std::uint64_t after,
                                                        std::unique_lock<std::mutex>& held) {
  if (!NetworkProtocol::suits(transfer)) return std::nullopt;
  RemoteExposure const* const found = NetworkProtocol::find_exposure(peer, transfer);
  if (found == nullptr || !found->usable) return std::nullopt;
  Status const status =
      found->exposure.permits(transfer.target, transfer.target_layout.extent(), rights_for(transfer));
  if (failed(status)) return Issued{status, true, 0};
  RmaOp resolved = transfer;
  resolved.target += found->exposure.base;
  return issue_network_at_address(peer, resolved, after, held);
}

/// Asks for the key that an operation, just issued as a message, has lacked. Nothing waits for the answer:
/// until it has arrived, operations are messages. Under the channel's lock.
void Engine::ask_for_key(Peer& peer, RmaOp const& operation) noexcept try {
  if (!state_->network_usable || peer.state().same_host || operation.is_update()) return;
  if (auto const question = NetworkProtocol::open_question(peer, operation))
    channel_of(peer).message_protocol.ask_for_key(peer, *question);
} catch (std::bad_alloc const&) {
  state_->log.write(LogLevel::error, "no memory to ask process %llx for a key",
                    static_cast<unsigned long long>(peer.process()));
}

/// Asks the peer's agent, and waits for the answer.
Status Engine::ask_for_segment(Peer& peer, RemoteAddress address, wire::SegmentReply* answer) {
  std::unique_lock held(channel_of(peer).lock);
  MessageProtocol& path = channel_of(peer).message_protocol;
  Outstanding* const question = path.find_segment(peer, address);
  if (question == nullptr) return Status::unreachable;
  drive_until(peer, held, [&] { return !question->live; });
  std::optional<wire::SegmentReply> const found = question->segment;
  path.release(*question);
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
