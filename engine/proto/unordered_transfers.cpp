#include "engine/proto/unordered_transfers.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

namespace {

/// Counts a transfer or a flush to a process of this host, whose end may be found only by polling.
void count_unannounced(PeerState& state) noexcept {
  if (state.location.same_host) ++state.unannounced_transfers->count;
}
void discount_unannounced(PeerState& state) noexcept {
  if (state.location.same_host) --state.unannounced_transfers->count;
}

void report(UnorderedTransfer& transfer) {
  if (std::exchange(transfer.reported, true)) return;
  PeerState& state = transfer.peer->state();
  discount_unannounced(state);
  if (transfer.completion != nullptr) {
    transfer.completion->done(*transfer.completion, transfer.status, transfer.bytes);
  } else if (failed(transfer.status)) {
    state.messages.errors.keep(transfer.context, {.status = transfer.status,
                                                  .kind = transfer.kind,
                                                  .memory = transfer.memory,
                                                  .issued = {0, transfer.number}});
  }
}

/// Keeps a failure for each context with puts up to `last` that no flush has covered. The mark is that of the
/// first put that may be lost.
void fail_unflushed(Peer& peer, Status status, std::uint64_t last) {
  for (auto& [context, puts] : peer.state().make_transfers().unflushed) {
    if (puts.first == 0 || puts.first > last) continue;
    peer.state().messages.errors.keep(context, {.status = status, .memory = {}, .issued = {0, puts.first}});
  }
}

/// Forgets the puts up to `last`, which a flush has covered or which have failed.
void forget_unflushed(UnorderedTransfers& state, std::uint64_t last) noexcept {
  for (auto& [context, puts] : state.unflushed) {
    if (puts.first == 0) continue;
    puts.first = puts.newest <= last ? 0 : std::max(puts.first, last + 1);
  }
}

/// Ends the transfer if all its parts have ended and its flush, if it needs one, has ended. A failed transfer
/// needs none.
void finish_if_done(UnorderedTransfer& transfer) {
  if (transfer.parts != 0) return;
  UnorderedTransfers& state = transfer.peer->state().make_transfers();
  state.pending.erase(transfer.number);
  if (!transfer.flushed && !failed(transfer.status)) return;
  state.awaiting_flush.erase(transfer.number);
  if (transfer.unflushed != nullptr && !failed(transfer.status) && transfer.number > state.flushed) {
    if (transfer.unflushed->first == 0) transfer.unflushed->first = transfer.number;
    transfer.unflushed->newest = std::max(transfer.unflushed->newest, transfer.number);
  }
  std::unique_ptr<UnorderedTransfer> const owned(&transfer);
  report(transfer);
}

/// At most one flush at a time, because UCX counts the flushes of an endpoint in few bits.
void request_flush(Peer& peer) {
  UnorderedTransfers& state = peer.state().make_transfers();
  if (state.flushing) return;
  state.flushing = true;
  state.flush_covers = state.issued;
  state.flush_is_counted = peer.state().location.same_host;
  count_unannounced(peer.state());
  state.start_flush(peer);
}

/// Unknown for exposed memory, whose offset is not stored.
ReportedOperation reported_kind(RmaOp const& transfer) noexcept {
  if (transfer.exposed.target != ExposureId::none) return ReportedOperation::unknown;
  return transfer.kind == OpKind::put ? ReportedOperation::put : ReportedOperation::get;
}

/// The flush, in progress or lost, no longer counts as one whose end may be found only by polling.
void discount_flush(Peer& peer) noexcept {
  if (std::exchange(peer.state().make_transfers().flush_is_counted, false))
    --peer.state().unannounced_transfers->count;
}

/// Enters the transfer before it is posted: lack of memory must not interrupt a posted one.
void enter(UnorderedTransfers& state, UnorderedTransfer& transfer, bool needs_flush) {
  // A put that awaits the flush itself reports the flush's failure.
  if (needs_flush && transfer.flushed) transfer.unflushed = &state.unflushed[transfer.context];
  auto const pending = state.pending.emplace(transfer.number, &transfer).first;
  if (transfer.flushed) return;
  try {
    state.awaiting_flush.emplace(transfer.number, &transfer);
  } catch (...) {
    state.pending.erase(pending);
    throw;
  }
}

}  // namespace

UnorderedTransfer& begin_transfer(Peer& peer, RmaOp const& transfer, TransferTraits const& traits) {
  UnorderedTransfers& state = peer.state().make_transfers();
  bool const needs_flush = transfer.kind == OpKind::put && traits.start_flush != nullptr;
  bool const awaits_flush =
      needs_flush && transfer.completion != nullptr && has(transfer.flags, OpFlags::remote_completion);
  std::size_t const bytes = transfer.target_layout.size();
  auto owned = std::make_unique<UnorderedTransfer>(
      UnorderedTransfer{&peer,
                        transfer.completion,
                        transfer.context,
                        state.issued + 1,
                        bytes,
                        1,
                        !awaits_flush,
                        Status::ok,
                        false,
                        !traits.ends_after_loss,
                        false,
                        reported_kind(transfer),
                        {transfer.target, bytes, transfer.target_layout.is_contiguous(), ExposureId::none},
                        nullptr});
  enter(state, *owned, needs_flush);  // the last step that may throw
  std::uint64_t const number = ++state.issued;
  if (has(transfer.flags, OpFlags::ordered)) state.newest_ordered = number;
  if (needs_flush) {
    state.newest_put = number;
    state.start_flush = traits.start_flush;
  }
  count_unannounced(peer.state());
  return *owned.release();  // finish_if_done() frees it
}

Issued end_issue(UnorderedTransfer& transfer) {
  Peer& peer = *transfer.peer;
  // The transfer has no position in the message stream, so the newest one stands for it;
  // EngineOrder::complete waits for these transfers too.
  std::uint64_t const sequence = std::max<std::uint64_t>(peer.newest(), 1);
  --transfer.parts;
  Status const status = transfer.status;
  bool const waits_for_flush = !transfer.flushed && !failed(status);
  if (transfer.parts == 0 && !waits_for_flush) {
    // The caller gets the status.
    transfer.completion = nullptr;
    if (failed(status)) transfer.unflushed = nullptr;
    transfer.status = Status::ok;
    transfer.flushed = true;
    finish_if_done(transfer);
    return {status, true, sequence};
  }
  finish_if_done(transfer);
  if (waits_for_flush) request_flush(peer);
  return {Status::ok, false, sequence};
}

void end_part(UnorderedTransfer& transfer, Status status) {
  if (failed(status) && !failed(transfer.status)) transfer.status = status;
  --transfer.parts;
  finish_if_done(transfer);
}

void end_flush(Peer& peer, Status status) {
  UnorderedTransfers& state = peer.state().make_transfers();
  state.flushing = false;
  discount_flush(peer);
  state.flushed = state.flush_covers;
  if (failed(status)) fail_unflushed(peer, status, state.flushed);
  forget_unflushed(state, state.flushed);
  while (!state.awaiting_flush.empty() && state.awaiting_flush.begin()->first <= state.flushed) {
    UnorderedTransfer& transfer = *state.awaiting_flush.begin()->second;
    state.awaiting_flush.erase(state.awaiting_flush.begin());
    transfer.flushed = true;
    if (failed(status) && !failed(transfer.status)) transfer.status = status;
    finish_if_done(transfer);
  }
  if (!state.awaiting_flush.empty() && !peer.state().messages.broken) request_flush(peer);
}

bool ended_or_start_flush(Peer& peer, std::uint64_t number) {
  if (peer.state().messages.broken) return are_released(peer, number);
  UnorderedTransfers const& state = peer.state().transfers();
  if (state.need_flush(number)) request_flush(peer);
  return state.are_complete(number);
}

bool are_released(Peer& peer, std::uint64_t number) noexcept {
  UnorderedTransfers const& state = peer.state().transfers();
  if (state.are_released(number)) return true;
  auto const is_free = [&](auto const& entry) { return entry.first > number || entry.second->given_up; };
  return peer.state().messages.broken && std::ranges::all_of(state.pending, is_free);
}

void lose_transfers(Peer& peer) {
  UnorderedTransfers* const state = peer.state().transfers_if_any();
  if (state == nullptr) return;
  fail_unflushed(peer, Status::transport, state->issued);
  forget_unflushed(*state, state->issued);
  discount_flush(peer);
  for (auto const& [number, transfer] : state->pending) {
    transfer->status = Status::transport;
    transfer->given_up = transfer->may_be_given_up && peer.state().location.same_host;
    if (transfer->given_up) report(*transfer);
  }
  while (!state->awaiting_flush.empty()) {
    UnorderedTransfer& transfer = *state->awaiting_flush.begin()->second;
    state->awaiting_flush.erase(state->awaiting_flush.begin());
    transfer.status = Status::transport;
    transfer.flushed = true;
    finish_if_done(transfer);
  }
}

}  // namespace mpixrma::engine
