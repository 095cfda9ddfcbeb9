#include "engine/proto/revocations.hpp"

#include <algorithm>

#include "engine/base/take_each.hpp"
#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

void Revocations::acknowledge() {
  take_each(revocations_, [this](Revocation const& revocation) {
    OriginStream const& stream = revocation.peer->state().messages;
    // The acknowledgement's position in the stream must follow those of unsent operations.
    bool const waits = stream.suspended || stream.unsent != nullptr;
    if (waits || (revoke_ && !revoke_(*revocation.peer, revocation.number, revocation.base))) {
      revocations_.push_back(revocation);
    } else {
      acknowledge(*revocation.peer, revocation.number);
    }
  });
}

void Revocations::acknowledge(Peer& peer, std::uint64_t number) {
  if (!sessions_.connect(peer) || peer.state().messages.broken) return;
  MessageOperation operation;
  operation.header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::key_dropped);
  operation.header.operation_id = number;
  (void)streams_.send_empty(peer, operation, peer.reserve(1));
}

bool Revocations::concern(Peer const& peer) const noexcept {
  return std::any_of(revocations_.begin(), revocations_.end(),
                     [&](Revocation const& asked) { return asked.peer == &peer; });
}

void Revocations::forget(Peer const& peer) noexcept {
  std::erase_if(revocations_, [&](Revocation const& asked) { return asked.peer == &peer; });
}

}  // namespace mpixrma::engine
