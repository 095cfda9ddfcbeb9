#include "mpix/xfer/transfer.hpp"
#include "engine/runtime/multi_peer_fence.hpp"

#include <atomic>

#include "engine/runtime/blocking_completion.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

namespace {

/// Waits for the operation that was issued with this completion. Returns the operation's status.
engine::Status wait(engine::Peer& peer, engine::Issued const& issued,
                    engine::BlockingCompletion const& completion) {
  if (engine::failed(issued.status) || issued.complete) return issued.status;
  engine_of_process().waits.until(peer, [&] { return completion.is_done.load(std::memory_order_acquire); });
  return completion.status;
}

}  // namespace

void accumulate_elements(engine::StripeTable& table, engine::Reduction reduction, void const* origin,
                         std::byte* remote, RemoteAddress address, std::size_t bytes) noexcept {
  engine::accumulate_elements(reduction, origin, remote, table, address, bytes);
}

bool try_direct_atomic(Target& target, engine::RmaOp const& operation) noexcept {
  engine::Peer& peer = *target.peer;
  engine::Extent const extent = operation.target_layout.extent();
  std::byte* const mapped = peer.translate(operation.target + static_cast<std::uint64_t>(extent.begin),
                                           static_cast<std::size_t>(extent.end - extent.begin));
  if (mapped == nullptr || operation.target_layout.size() == 0) return false;
  std::byte* counter = nullptr;
  if (operation.notify != 0) {
    counter = peer.translate(operation.notify, sizeof(std::uint64_t));
    if (counter == nullptr) return false;
  }
  {
    engine::StripeLockPair locks =
        engine_of_process().stripes.make_locks(peer, engine::footprint_of(operation, peer.stripes()->modes));
    if (!locks.acquire()) return false;
    engine::execute_directly(operation, mapped - extent.begin, peer.stripes()->modes);
  }
  if (counter != nullptr) __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(counter), 1, __ATOMIC_SEQ_CST);
  return true;
}

engine::Issued issue(Target& target, RmaOp& operation) {
  operation.context = target.context;
  engine::Issued const issued = engine_of_process().issue(*target.peer, operation);
  if (issued.sequence != 0) target.outstanding.raise(issued.sequence);
  return issued;
}

engine::Status issue_and_wait(Target& target, RmaOp& operation) {
  engine::BlockingCompletion completion;
  operation.completion = &completion;
  engine::Issued const issued = issue(target, operation);
  if (!issued.complete) return wait(*target.peer, issued, completion);
  if (has(operation.flags, OpFlags::remote_completion)) std::atomic_thread_fence(std::memory_order_seq_cst);
  return issued.status;
}

engine::Status lock_and_wait(Target& target, engine::LockRequest& request) {
  engine::BlockingCompletion completion;
  request.completion = &completion;
  return wait(*target.peer, engine_of_process().locks.acquire(*target.peer, request), completion);
}

engine::Status unlock(Target& target, engine::LockId lock, std::uint32_t owner) {
  engine::Issued const issued = engine_of_process().locks.release(*target.peer, lock, owner, target.context);
  if (issued.sequence != 0) target.outstanding.raise(issued.sequence);
  return issued.status;
}

engine::Status complete_messages(Target& target, LateFailure* failed) {
  // Completes only what is outstanding now: other threads may issue more meanwhile, and rely on `outstanding`
  // until all that it covers is complete.
  std::uint64_t const sequence = target.outstanding.get();
  engine_of_process().order.complete(*target.peer, sequence);
  target.outstanding.clear(sequence);
  (void)host().deliver_completions();  // keeps failures whose requests are freed
  engine::LateError error;
  engine::Status const status = engine_of_process().failures.take(*target.peer, target.context, &error);
  if (engine::failed(status) && failed != nullptr) *failed = {target.rank, target.peer->process(), error};
  return status;
}

engine::Status complete_all(Communicator& communicator, LateFailure* failed) {
  engine::Status first = engine::Status::ok;
  communicator.for_each_target([&](Target& target) {
    if (!target.outstanding.is_set()) return;
    engine::Status const status = complete_messages(target, engine::failed(first) ? nullptr : failed);
    if (!engine::failed(first)) first = status;
  });
  // Makes the stores of this thread to all targets visible, as complete_stores() does.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return first;
}

void fence(Target& target) noexcept {
  engine_of_process().order.fence(*target.peer, target.outstanding.get());
}

void fence_all(Communicator& communicator) {
  std::vector<engine::PeerSequence> before;
  communicator.for_each_target([&](Target& target) {
    if (target.outstanding.is_set()) before.push_back({target.peer, target.outstanding.get()});
  });
  engine_of_process().order.fence(before);
  // Orders the stores to targets without messages, as EngineOrder::fence() does.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace mpixrma
