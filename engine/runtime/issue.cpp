/// Engine: the steps of every operation before a protocol is chosen.
#include <atomic>

#include "engine/op/kernel/whole_elements.hpp"
#include "engine/runtime/dispatch.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/access_order.hpp"

namespace mpixrma::engine {

namespace {

/// Whether the operation is complete only when its effect is visible, which includes its notification.
bool completes_remotely(RmaOp const& operation) noexcept {
  return has(operation.flags, OpFlags::remote_completion | OpFlags::atomic) || operation.is_get() ||
         operation.result != nullptr;
}

}  // namespace

/// Issues the notification of an operation whose memory accesses are complete, if it requests one.
Issued Engine::notify(Peer& peer, RmaOp const& done) {
  if (!notifies(done)) return {};
  RmaOp increment = update_with(ReduceOp::increment, ElementType::uint64);
  increment.flags = OpFlags::element_atomic | (done.flags & OpFlags::ordered);
  if (completes_remotely(done)) increment.flags = increment.flags | OpFlags::remote_completion;
  increment.context = done.context;
  increment.target = done.notify;
  increment.target_layout = Layout::contiguous(sizeof(std::uint64_t));
  increment.exposed.target = done.exposed.notify;
  increment.completion = done.completion;
  increment.is_internal = true;
  return issue(peer, increment);
}

namespace {

/// Whether the update is defined for its type, and its layouts consist of whole elements: protocols check
/// neither.
bool is_sound(RmaOp const& operation) noexcept {
  if (!operation.is_update()) return true;
  if (!is_valid({.type = operation.type,
                 .operation = operation.reduce_op,
                 .element_atomic = false,
                 .scale = operation.scale}))
    return false;
  auto const whole = [&](Layout const& layout) {
    return has_whole_elements(layout, operation.type) && layout.size() == operation.target_layout.size();
  };
  return whole(operation.target_layout) && (operation.operands() == 0 || whole(operation.origin_layout)) &&
         (operation.result == nullptr || whole(operation.result_layout));
}

}  // namespace

std::uint64_t Engine::continue_run(Peer& peer, RunOperation const& operation) {
  PeerState& state = peer.state();
  Channel& channel = *state.channel;
  // Other protocols, locks and fences may need more than an append: Dispatch decides about these operations.
  bool const needs_dispatch = state.shares_memory || state_->has_unordered_protocol_between_hosts() ||
                              state_->multi_peer_fence.is_pending() ||
                              state.messages.stream_lock_hint.load(std::memory_order_relaxed) ||
                              state_->device_memory.is_possible() || has(operation.flags, OpFlags::atomic);
  if (needs_dispatch || !channel.message_protocol.sender.has_open_batch()) return 0;
  Recorder* const recorder = state_->recorder.get();
  std::uint64_t const began = recorder != nullptr ? recorder->now() : 0;
  order_before_store(has(operation.flags, OpFlags::ordered));
  std::lock_guard const held(channel.lock);
  std::uint64_t const sequence = channel.message_protocol.streams.continue_run(peer, operation);
  if (sequence == 0) return 0;
  state.traffic.add_operation(Protocol::message, operation.bytes);
  if (recorder != nullptr) [[unlikely]]
    recorder->add_appended(began, peer.process(), operation, sequence);
  channel.progress_after_append();
  return sequence;
}

Issued Engine::issue(Peer& peer, RmaOp const& operation) {
  if (is_run_operation(operation)) {
    if (std::uint64_t const sequence = continue_run(peer, run_operation_of(operation)); sequence != 0)
      return {Status::ok, true, sequence};
  }
  if (peer.is_lost()) return Issued::ended(Status::unreachable);
  if (state_->multi_peer_fence.is_pending()) [[unlikely]]
    order.wait_for_multi_peer_fence(&peer);
  if (operation.target_layout.size() == 0)
    return notify(peer, operation);  // even if is_sound() fails: no element is accessed
  if (!is_sound(operation)) return Issued::ended(Status::bad_argument);
  if (state_->device_memory.holds_origin_of(operation)) return Issued::ended(Status::device_memory);
  bool const ordered = has(operation.flags, OpFlags::ordered);
  order_before_store(ordered);
  if (operation.is_get() && ordered) {
    // An earlier ordered store that overlaps the memory of this get must be visible to all before any part of
    // it is read. The location of the store is not recorded, so the fence is unconditional.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    order.wait_for_puts_to_self();
  }
  Dispatch dispatch(*this, peer, operation);
  if (peer.state().shares_memory) {
    auto issued = state_->recorder != nullptr ? dispatch.issue_traced_direct() : std::nullopt;
    if (!issued) issued = dispatch.issue_at_once();
    if (issued) {
      order_after_load(ordered);
      return failed(issued->status) ? *issued : notify(peer, operation);
    }
  }
  return dispatch.issue_in_stream();
}

}  // namespace mpixrma::engine
