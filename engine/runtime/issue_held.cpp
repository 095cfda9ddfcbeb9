/// Engine: messages of an operation for which this process holds the target's stripes.
#include <algorithm>
#include <mutex>
#include <span>

#include "engine/op/kernel/whole_elements.hpp"
#include "engine/proto/remainder.hpp"
#include "engine/runtime/blocking_completion.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

std::size_t whole_part(RmaOp const& operation, std::size_t bytes) noexcept {
  return operation.is_update() ? whole_elements(operation.type, bytes) : bytes;
}

}  // namespace

/// Sends the operation part by part and waits for each part; its messages overtake all others, so that
/// messages that wait for the stripes, here or at the peer, do not block them.
Status Engine::issue_held(Peer& peer, RmaOp const& operation) {
  Channel& channel = channel_of(peer);
  // An update may have two operands.
  std::size_t const most = whole_part(operation, state_->config.fragment_bytes / 2);
  std::size_t const total = operation.target_layout.size();
  for (std::size_t done = 0; done < total; done += most) {
    DataRange const range{done, std::min(most, total - done)};
    Remainder const part(operation, std::span(&range, 1));
    BlockingCompletion end;
    RmaOp awaited = part.operation();
    awaited.completion = &end;
    Issued issued;
    wait_until(peer, [&] {
      std::lock_guard const held(channel.lock);
      if (peer.state().messages.suspended) return false;
      issued = channel.message_protocol.issue_ahead(peer, awaited);
      channel.answer_itself();
      return true;
    });
    if (failed(issued.status)) return issued.status;
    wait_until(peer, [&] { return end.has_come.load(std::memory_order_acquire); });
    if (failed(end.status)) return end.status;
  }
  return Status::ok;
}

}  // namespace mpixrma::engine
