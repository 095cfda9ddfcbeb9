#include "engine/proto/unordered_transfers.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

namespace {

void report(UnorderedTransfer& transfer) {
  if (std::exchange(transfer.reported, true)) return;
  PeerState& state = transfer.peer->state();
  if (state.location.same_host) --state.unannounced_transfers->count;
  if (transfer.completion != nullptr) {
    transfer.completion->done(*transfer.completion, transfer.status, transfer.bytes);
  } else if (failed(transfer.status)) {
    state.messages.errors.keep(transfer.context, {transfer.status, transfer.kind, transfer.memory});
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
  std::unique_ptr<UnorderedTransfer> const owned(&transfer);
  report(transfer);
}

/// At most one flush at a time, because UCX counts the flushes of an endpoint in few bits.
void request_flush(Peer& peer) {
  UnorderedTransfers& state = peer.state().make_transfers();
  if (state.flushing) return;
  state.flushing = true;
  state.flush_covers = state.issued;
  state.start_flush(peer);
}

/// Unknown for exposed memory, whose offset is not stored.
ReportedOperation reported_kind(RmaOp const& transfer) noexcept {
  if (transfer.exposed.target != ExposureId::none) return ReportedOperation::unknown;
  return transfer.kind == OpKind::put ? ReportedOperation::put : ReportedOperation::get;
}

/// Enters the transfer before it is posted: lack of memory must not interrupt a posted one.
void enter(UnorderedTransfers& state, UnorderedTransfer& transfer, bool needs_flush) {
  if (needs_flush) state.unflushed[transfer.context] = transfer.number;
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

UnorderedTransfer& begin_transfer(Peer& peer, RmaOp const& transfer, void (*start_flush)(Peer& peer)) {
  UnorderedTransfers& state = peer.state().make_transfers();
  bool const needs_flush = transfer.kind == OpKind::put && start_flush != nullptr;
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
                        reported_kind(transfer),
                        {transfer.target, bytes, transfer.target_layout.is_contiguous(), ExposureId::none}});
  enter(state, *owned, needs_flush);
  std::uint64_t const number = ++state.issued;
  if (has(transfer.flags, OpFlags::ordered)) state.newest_ordered = number;
  if (needs_flush) {
    state.newest_put = number;
    state.start_flush = start_flush;
  }
  if (peer.state().location.same_host) ++peer.state().unannounced_transfers->count;
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
  state.flushed = state.flush_covers;
  for (auto it = state.unflushed.begin(); it != state.unflushed.end();) {
    if (failed(status))
      peer.state().messages.errors.keep(it->first, {status, ReportedOperation::unknown, {}});
    it = it->second <= state.flushed ? state.unflushed.erase(it) : std::next(it);
  }
  while (!state.awaiting_flush.empty() && state.awaiting_flush.begin()->first <= state.flushed) {
    UnorderedTransfer& transfer = *state.awaiting_flush.begin()->second;
    state.awaiting_flush.erase(state.awaiting_flush.begin());
    transfer.flushed = true;
    if (failed(status) && !failed(transfer.status)) transfer.status = status;
    finish_if_done(transfer);
  }
  if (!state.awaiting_flush.empty()) request_flush(peer);
}

bool have_ended(Peer& peer, std::uint64_t number) {
  if (peer.state().messages.broken) return true;
  UnorderedTransfers const& state = peer.state().transfers();
  if (state.need_flush(number)) request_flush(peer);
  return state.have_ended(number);
}

void lose_transfers(Peer& peer) {
  UnorderedTransfers* const state = peer.state().transfers_if_any();
  if (state == nullptr) return;
  for (auto const& [number, transfer] : state->pending) {
    transfer->status = Status::transport;
    report(*transfer);
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
