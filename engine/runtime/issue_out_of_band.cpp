/// Message protocol: messages of an operation for which this process holds the target's stripes.
#include <algorithm>
#include <mutex>
#include <optional>
#include <span>

#include "engine/op/kernel/whole_elements.hpp"
#include "engine/runtime/blocking_completion.hpp"
#include "engine/runtime/dispatch.hpp"

namespace mpixrma::engine {

namespace {

std::size_t whole_part(RmaOp const& operation, std::size_t bytes) noexcept {
  return operation.is_update() ? whole_elements(operation.type, bytes) : bytes;
}

}  // namespace

/// Waits for each part. The messages overtake all others, so that no message that waits for these stripes,
/// here or at the peer, blocks this operation.
Status message::execute_out_of_band(Dispatch& dispatch) {
  RmaOp const& operation = dispatch.original();
  Engine& engine = dispatch.engine();
  Channel& channel = dispatch.channel();
  // An update may have two operands.
  std::size_t const most = whole_part(operation, dispatch.config().fragment_bytes / 2);
  std::size_t const total = operation.target_layout.size();
  for (std::size_t done = 0; done < total; done += most) {
    DataRange const range{done, std::min(most, total - done)};
    Remainder const part(operation, std::span(&range, 1));
    BlockingCompletion completion;
    RmaOp awaited = part.operation();
    awaited.completion = &completion;
    std::optional<Issued> issued;
    engine.waits.until(dispatch.peer(), [&] {
      std::lock_guard const held(channel.lock);
      issued = channel.message_protocol.streams.issue_out_of_band(dispatch.peer(), awaited);
      if (!issued) return false;
      channel.progress_self_messages();
      return true;
    });
    if (failed(issued->status)) return issued->status;
    engine.waits.until(dispatch.peer(), [&] { return completion.is_done.load(std::memory_order_acquire); });
    if (failed(completion.status)) return completion.status;
  }
  return Status::ok;
}

}  // namespace mpixrma::engine
