/// Engine: operations by UCX put and get, and the state of a peer that they need.
#include <new>
#include <optional>

#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

/// Waits until every operation by UCX put and get up to `number` has ended.
void Engine::wait_for_network(Peer& peer, std::uint64_t number, std::unique_lock<std::mutex>& held) {
  channel_of(peer).drive_until(held, [&] { return NetworkProtocol::reached(peer, number); });
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
  Channel& channel = channel_of(peer);
  channel.drive_until(held, [&] { return !stream.suspended && channel.message_protocol.await(peer, after); });
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

}  // namespace mpixrma::engine
