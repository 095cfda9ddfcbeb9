/// Network protocol: operations by UCX put and get.
#include <new>
#include <optional>

#include "engine/runtime/dispatch.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

/// Returns nullopt if the key is not known.
std::optional<Issued> issue_at_address(Dispatch& dispatch, RmaOp const& transfer) {
  Peer& peer = dispatch.peer();
  if (NetworkProtocol::find_key(peer, transfer) == nullptr) return std::nullopt;
  // UCX does not order this operation behind messages, so wait for those that must be executed before it.
  OriginStream const& stream = dispatch.peer_state().messages;
  Channel& channel = dispatch.channel();
  channel.progress_until(dispatch.stream_conditions().held, [&] {
    return !stream.suspended && channel.message_protocol.streams.executed_or_request_ack(
                                    peer, dispatch.stream_conditions().before.message);
  });
  // While the lock was released, the key may have been revoked or the connection lost.
  RemoteKey* const key = NetworkProtocol::find_key(peer, transfer);
  RemoteExposure* const exposure = NetworkProtocol::find_exposure(peer, transfer);
  bool const gone = transfer.exposed.target != ExposureId::none && exposure == nullptr;
  if (key == nullptr || gone || stream.broken) return std::nullopt;
  dispatch.peer_state().messages.last_use = channel.connections.note_use();
  Issued const issued = NetworkProtocol::issue(peer, transfer, *key);
  if (exposure != nullptr) exposure->newest_use = key->newest_use;
  return issued;
}

/// Returns nullopt if the exposure is unknown or not usable: the operation is then a message, and the target
/// reports an error of the exposure.
std::optional<Issued> issue_at_exposure(Dispatch& dispatch) {
  RmaOp const& transfer = dispatch.original();
  RemoteExposure const* const found = NetworkProtocol::find_exposure(dispatch.peer(), transfer);
  if (found == nullptr || !found->usable) return std::nullopt;
  Status const status =
      found->exposure.permits(transfer.target, transfer.target_layout.extent(), rights_for(transfer));
  if (failed(status)) return Issued::ended(status);
  RmaOp resolved = transfer;
  resolved.target += found->exposure.base;
  return issue_at_address(dispatch, resolved);
}

bool is_suitable(Dispatch const& dispatch) {
  return dispatch.network_is_usable() && !dispatch.original().is_update() &&
         NetworkProtocol::can_transfer(dispatch.original());
}

}  // namespace

std::optional<Issued> network::issue(Dispatch& dispatch) {
  if (!is_suitable(dispatch)) return std::nullopt;
  bool const is_exposed = dispatch.original().exposed.target != ExposureId::none;
  auto const issued =
      is_exposed ? issue_at_exposure(dispatch) : issue_at_address(dispatch, dispatch.original());
  if (!issued) return std::nullopt;
  dispatch.track_access(Protocol::network, *issued);
  dispatch.channel().progress_transfers();
  return issued;
}

void Dispatch::query_key() noexcept try {
  if (!network_is_usable() || original_.is_update()) return;
  if (auto const query = NetworkProtocol::needed_query(peer_, original_))
    channel().message_protocol.streams.query_key(peer_, *query);
} catch (std::bad_alloc const&) {
  state_.log.write(LogLevel::error, "no memory to ask process %s for a key",
                   state_.log.name(peer_.process()).c_str());
}

}  // namespace mpixrma::engine
