#include "engine/proto/network.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

namespace {

// For shorter contiguous runs, one message with all the data is faster than many small puts.
constexpr std::size_t shortest_run = 2048;

bool in_range(RemoteAddress base, std::size_t length, RemoteAddress address, std::size_t bytes) noexcept {
  return address >= base && address - base <= length && bytes <= length - (address - base);
}

RemoteAddress begin_of(RmaOp const& transfer) noexcept {
  return transfer.target + static_cast<std::uint64_t>(transfer.target_layout.extent().begin);
}

/// Returns the key for the range, or nullptr.
RemoteKey* find_key(NetworkState& state, RemoteAddress begin, std::size_t bytes) noexcept {
  auto const next = state.keys.upper_bound(begin);
  if (next == state.keys.begin()) return nullptr;
  auto& [base, key] = *std::prev(next);
  return in_range(base, key.length, begin, bytes) ? &key : nullptr;
}

}  // namespace

NetworkState const& NetworkState::none() noexcept {
  static NetworkState const empty;
  return empty;
}

bool NetworkProtocol::can_transfer(RmaOp const& transfer) noexcept {
  // Locking and counting need the target's CPU.
  if (notifies(transfer)) return false;
  if (has(transfer.flags, OpFlags::atomic | OpFlags::element_atomic)) return false;
  auto const long_runs = [&](Layout const& layout) {
    if (layout.is_contiguous()) return true;
    std::size_t const runs = layout.runs.empty() ? 1 : layout.runs.size();
    return layout.block / runs >= shortest_run;
  };
  return long_runs(transfer.target_layout) && long_runs(transfer.origin_layout);
}

RemoteKey* NetworkProtocol::find_key(Peer& peer, RmaOp const& transfer) noexcept {
  NetworkState* const state = peer.state().network_if_any();
  if (state == nullptr) return nullptr;
  Extent const extent = transfer.target_layout.extent();
  return engine::find_key(*state, begin_of(transfer), static_cast<std::size_t>(extent.end - extent.begin));
}

std::optional<KeyQuery> NetworkProtocol::needed_query(Peer& peer, RmaOp const& transfer) noexcept {
  if (!can_transfer(transfer)) return std::nullopt;
  ExposureId const exposure = transfer.exposed.target;
  RemoteAddress begin = begin_of(transfer);
  KeyQuery const query{exposure == ExposureId::none ? begin : 0, exposure};
  NetworkState* const state = peer.state().network_if_any();
  if (state == nullptr) return query;
  if (state->pending_query_id != 0 || state->last_query == query) return std::nullopt;
  if (exposure != ExposureId::none) {
    RemoteExposure const* const known = find_exposure(peer, transfer);
    if (known == nullptr) return query;
    if (!known->usable) return std::nullopt;
    begin += known->exposure.base;
  }
  // A transfer that ends outside of the segment never uses this protocol.
  bool const answered = engine::find_key(*state, begin, 1) != nullptr || state->gaps.contain(begin);
  return answered ? std::nullopt : std::optional(query);
}

RemoteExposure* NetworkProtocol::find_exposure(Peer& peer, RmaOp const& transfer) noexcept {
  NetworkState* const state = peer.state().network_if_any();
  if (state == nullptr) return nullptr;
  auto const found = state->exposures.find(transfer.exposed.target);
  return found != state->exposures.end() ? &found->second : nullptr;
}

void NetworkProtocol::learn(Peer& peer, wire::SegmentReply const& answer, std::span<std::byte const> key) {
  NetworkState& state = peer.state().make_network();
  if (answer.exposure != 0 && !state.revoked.contains(answer.exposure)) {
    Exposure const exposure{answer.exposed_base, answer.exposed_length, static_cast<Rights>(answer.rights)};
    RemoteExposure& known =
        state.exposures
            .try_emplace(static_cast<ExposureId>(answer.exposure), RemoteExposure{exposure, false, 0})
            .first->second;
    known.usable = !key.empty();
  }
  if (key.empty()) return state.gaps.add(answer.base, answer.base + answer.length);
  if (state.revoked.contains(answer.number)) return;
  RemoteKey made{answer.number, answer.length, nullptr, 0};
  auto it = state.keys.upper_bound(answer.base);
  if (it != state.keys.begin()) --it;
  // The previous segment at this address is gone; its revocation is in flight.
  while (it != state.keys.end() && it->first < answer.base + answer.length) {
    auto const old = it++;
    if (old->first + old->second.length <= answer.base) continue;
    if (old->second.number == answer.number) return;  // two threads have queried
    state.revoked.emplace(old->second.number, old->second);
    state.keys.erase(old);
  }
  ucp_ep_h const endpoint = peer.state().messages.endpoint;
  if (endpoint == nullptr) return;  // the connection was closed meanwhile, and the key with it
  if (ucp_ep_rkey_unpack(endpoint, key.data(), &made.key) != UCS_OK)
    return state.gaps.add(answer.base, answer.base + answer.length);
  state.keys.emplace(answer.base, made);
}

bool NetworkProtocol::revoke(Peer& peer, std::uint64_t number, RemoteAddress base) {
  if (peer.state().network_if_any() == nullptr) return true;
  NetworkState& state = peer.state().make_network();
  if (auto const known = state.keys.find(base); known != state.keys.end() && known->second.number == number) {
    state.revoked.emplace(number, known->second);
    state.keys.erase(known);
  }
  if (auto const known = state.exposures.find(ExposureId{number}); known != state.exposures.end()) {
    state.revoked.emplace(number, RemoteKey{number, 0, nullptr, known->second.newest_use});
    state.exposures.erase(known);
  }
  auto const found = state.revoked.find(number);
  if (found == state.revoked.end()) return true;
  if (!has_completed(peer, found->second.newest_use)) return false;
  if (found->second.key != nullptr) ucp_rkey_destroy(found->second.key);
  state.revoked.erase(found);
  return true;
}

void NetworkProtocol::forget_all(Peer& peer) noexcept {
  NetworkState* const state = peer.state().network_if_any();
  if (state == nullptr) return;
  for (auto const& [base, key] : state->keys) ucp_rkey_destroy(key.key);
  for (auto const& [number, key] : state->revoked) {
    if (key.key != nullptr) ucp_rkey_destroy(key.key);
  }
  state->keys.clear();
  state->exposures.clear();
  state->revoked.clear();
  state->last_query.reset();
}

/// An operation until UCX has completed all its parts and, if required, a flush has ended.
struct NetworkOperation {
  Peer* peer;
  Completion* completion;
  std::uint32_t context;
  std::uint64_t number;
  std::size_t bytes;
  std::uint64_t parts;  ///< parts that UCX has not completed, plus one until all are posted
  bool flushed;         ///< a flush has covered the operation, or is not needed
  Status status;
  bool reported;  ///< its completion has been called
  ReportedOperation kind;
  TargetMemory memory;
};

namespace {

ucp_request_param_t callback_of(ucp_send_nbx_callback_t callback, void* argument) noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = callback;
  param.user_data = argument;
  return param;
}

void report(NetworkOperation& operation) {
  if (std::exchange(operation.reported, true)) return;
  if (operation.completion != nullptr) {
    operation.completion->done(*operation.completion, operation.status, operation.bytes);
  } else if (failed(operation.status)) {
    operation.peer->state().messages.errors.keep(operation.context,
                                                 {operation.status, operation.kind, operation.memory});
  }
}

/// Reports the operation, and no longer counts it as a transfer whose end UCX does not announce.
void end_transfer(NetworkOperation& operation) {
  if (operation.reported) return;
  PeerState& state = operation.peer->state();
  if (state.location.same_host) --state.unannounced_transfers->count;
  report(operation);
}

/// Ends the operation if all its parts are done and its flush, if it needs one, has ended. A failed operation
/// needs none.
void finish_if_done(NetworkOperation& operation) {
  if (operation.parts != 0) return;
  NetworkState& state = operation.peer->state().make_network();
  state.pending.erase(operation.number);
  if (!operation.flushed && !failed(operation.status)) return;
  state.awaiting_flush.erase(operation.number);
  std::unique_ptr<NetworkOperation> const owned(&operation);
  end_transfer(operation);
}

void on_part_done(void* request, ucs_status_t status, void* argument) {
  ucp_request_free(request);
  auto& operation = *static_cast<NetworkOperation*>(argument);
  if (status != UCS_OK && !failed(operation.status)) operation.status = Status::transport;
  --operation.parts;
  finish_if_done(operation);
}

Status post(NetworkOperation& operation, OpKind direction, std::byte* local, std::size_t bytes,
            RemoteAddress remote, ucp_rkey_h key) {
  ucp_request_param_t const param = callback_of(&on_part_done, &operation);
  ucp_ep_h const endpoint = operation.peer->state().messages.endpoint;
  ucs_status_ptr_t const request = direction == OpKind::put
                                       ? ucp_put_nbx(endpoint, local, bytes, remote, key, &param)
                                       : ucp_get_nbx(endpoint, local, bytes, remote, key, &param);
  if (UCS_PTR_IS_ERR(request)) return Status::transport;
  if (UCS_PTR_IS_PTR(request)) ++operation.parts;
  return Status::ok;
}

/// Posts a put or get for each run that is contiguous on both sides.
void post_runs(NetworkOperation& operation, RmaOp const& transfer, ucp_rkey_h key) {
  LayoutCursor here(transfer.origin_layout);
  LayoutCursor there(transfer.target_layout);
  LayoutRun a{0, 0};
  LayoutRun b{0, 0};
  for (std::size_t rest = operation.bytes; rest != 0 && !failed(operation.status);) {
    if (a.length == 0) a = here.next();
    if (b.length == 0) b = there.next();
    std::size_t const step = std::min(a.length, b.length);
    operation.status = post(operation, transfer.kind, transfer.origin + a.offset, step,
                            transfer.target + static_cast<std::uint64_t>(b.offset), key);
    rest -= step;
    for (LayoutRun* const run : {&a, &b}) {
      run->offset += static_cast<std::ptrdiff_t>(step);
      run->length -= step;
    }
  }
}

void start_flush(Peer& peer);

/// Unknown for exposed memory, whose offset is not stored.
ReportedOperation reported_kind(RmaOp const& transfer) noexcept {
  if (transfer.exposed.target != ExposureId::none) return ReportedOperation::unknown;
  return transfer.kind == OpKind::put ? ReportedOperation::put : ReportedOperation::get;
}

void end_flush(Peer& peer, ucs_status_t status) {
  NetworkState& state = peer.state().make_network();
  state.flushing = false;
  state.flushed = state.flush_covers;
  for (auto it = state.unflushed.begin(); it != state.unflushed.end();) {
    if (status != UCS_OK)
      peer.state().messages.errors.keep(it->first, {Status::transport, ReportedOperation::unknown, {}});
    it = it->second <= state.flushed ? state.unflushed.erase(it) : std::next(it);
  }
  while (!state.awaiting_flush.empty() && state.awaiting_flush.begin()->first <= state.flushed) {
    NetworkOperation& operation = *state.awaiting_flush.begin()->second;
    state.awaiting_flush.erase(state.awaiting_flush.begin());
    operation.flushed = true;
    if (status != UCS_OK && !failed(operation.status)) operation.status = Status::transport;
    finish_if_done(operation);
  }
  if (!state.awaiting_flush.empty()) start_flush(peer);
}

/// At most one flush per endpoint, because UCX counts flushes in few bits.
void start_flush(Peer& peer) {
  NetworkState& state = peer.state().make_network();
  if (state.flushing) return;
  state.flushing = true;
  state.flush_covers = state.issued;
  ucp_request_param_t const param = callback_of(
      [](void* request, ucs_status_t status, void* argument) {
        ucp_request_free(request);
        end_flush(*static_cast<Peer*>(argument), status);
      },
      &peer);
  ucs_status_ptr_t const request = ucp_ep_flush_nbx(peer.state().messages.endpoint, &param);
  if (!UCS_PTR_IS_PTR(request)) end_flush(peer, UCS_PTR_RAW_STATUS(request));
}

/// Enters the operation before it is posted: lack of memory must not interrupt a posted one.
void enter(NetworkState& state, NetworkOperation& operation, RmaOp const& transfer) {
  if (transfer.kind == OpKind::put) state.unflushed[transfer.context] = operation.number;
  auto const pending = state.pending.emplace(operation.number, &operation).first;
  if (operation.flushed) return;
  try {
    state.awaiting_flush.emplace(operation.number, &operation);
  } catch (...) {
    state.pending.erase(pending);
    throw;
  }
}

}  // namespace

Issued NetworkProtocol::issue(Peer& peer, RmaOp const& transfer, RemoteKey& key) {
  NetworkState& state = peer.state().make_network();
  std::uint64_t const number = ++state.issued;
  key.newest_use = number;
  bool const put = transfer.kind == OpKind::put;
  bool const remote =
      put && transfer.completion != nullptr && has(transfer.flags, OpFlags::remote_completion);
  if (has(transfer.flags, OpFlags::ordered)) state.newest_ordered = number;
  std::size_t const bytes = transfer.target_layout.size();
  auto owned = std::make_unique<NetworkOperation>(
      NetworkOperation{&peer,
                       transfer.completion,
                       transfer.context,
                       number,
                       bytes,
                       1,
                       !remote,
                       Status::ok,
                       false,
                       reported_kind(transfer),
                       {transfer.target, bytes, transfer.target_layout.is_contiguous(), ExposureId::none}});
  NetworkOperation& operation = *owned;
  enter(state, operation, transfer);
  post_runs(operation, transfer, key.key);
  --operation.parts;
  if (put) state.newest_put = number;
  // The operation has no position in the message stream, so the newest one stands for it;
  // EngineOrder::complete waits for this protocol too.
  std::uint64_t const sequence = std::max<std::uint64_t>(peer.newest(), 1);
  bool const ended = operation.parts == 0;
  if (ended) state.pending.erase(number);
  if (ended && (operation.flushed || failed(operation.status))) {
    state.awaiting_flush.erase(number);
    return {operation.status, true, sequence};
  }
  (void)owned.release();  // finish_if_done() frees it
  if (peer.state().location.same_host) ++peer.state().unannounced_transfers->count;
  if (remote) start_flush(peer);
  return {Status::ok, false, sequence};
}

void NetworkProtocol::lose(Peer& peer) {
  if (peer.state().network_if_any() == nullptr) return;
  NetworkState& state = peer.state().make_network();
  for (auto const& [number, operation] : state.pending) {
    operation->status = Status::transport;
    end_transfer(*operation);
  }
  while (!state.awaiting_flush.empty()) {
    NetworkOperation& operation = *state.awaiting_flush.begin()->second;
    state.awaiting_flush.erase(state.awaiting_flush.begin());
    operation.status = Status::transport;
    operation.flushed = true;
    finish_if_done(operation);
  }
  if (state.pending.empty()) return forget_all(peer);
  for (auto const& [base, key] : state.keys) state.revoked.emplace(key.number, key);
  state.keys.clear();
  state.exposures.clear();
}

bool NetworkProtocol::has_completed(Peer& peer, std::uint64_t number) {
  NetworkState const& state = peer.state().network();
  if (peer.state().messages.broken) return true;
  if (state.needs_flush(number)) start_flush(peer);
  return state.has_completed(number);
}

}  // namespace mpixrma::engine
