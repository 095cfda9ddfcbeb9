#include "engine/proto/network.hpp"

#include <algorithm>
#include <iterator>

#include "engine/origin/peer_state.hpp"
#include "engine/proto/unordered_transfers.hpp"

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
RemoteKey* find_key(NetworkKeys& state, RemoteAddress begin, std::size_t bytes) noexcept {
  auto const next = state.keys.upper_bound(begin);
  if (next == state.keys.begin()) return nullptr;
  auto& [base, key] = *std::prev(next);
  return in_range(base, key.length, begin, bytes) ? &key : nullptr;
}

}  // namespace

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
  NetworkKeys* const state = peer.state().keys_if_any();
  if (state == nullptr) return nullptr;
  Extent const extent = transfer.target_layout.extent();
  return engine::find_key(*state, begin_of(transfer), static_cast<std::size_t>(extent.end - extent.begin));
}

std::optional<KeyQuery> NetworkProtocol::needed_query(Peer& peer, RmaOp const& transfer) noexcept {
  if (!can_transfer(transfer)) return std::nullopt;
  ExposureId const exposure = transfer.exposed.target;
  RemoteAddress begin = begin_of(transfer);
  KeyQuery const query{exposure == ExposureId::none ? begin : 0, exposure};
  NetworkKeys* const state = peer.state().keys_if_any();
  if (state == nullptr) return query;
  if (state->pending_query_id != 0 || state->last_query == query) return std::nullopt;
  if (exposure != ExposureId::none) {
    RemoteExposure const* const known = find_exposure(peer, transfer);
    if (known == nullptr) return query;
    if (!known->usable) return std::nullopt;
    begin += known->exposure.base;
  }
  // A transfer that ends outside of the segment never uses this protocol.
  bool const known = engine::find_key(*state, begin, 1) != nullptr || state->gaps.contain(begin);
  return known ? std::nullopt : std::optional(query);
}

RemoteExposure* NetworkProtocol::find_exposure(Peer& peer, RmaOp const& transfer) noexcept {
  NetworkKeys* const state = peer.state().keys_if_any();
  if (state == nullptr) return nullptr;
  auto const found = state->exposures.find(transfer.exposed.target);
  return found != state->exposures.end() ? &found->second : nullptr;
}

void NetworkProtocol::learn(Peer& peer, wire::SegmentReply const& reply, std::span<std::byte const> key) {
  NetworkKeys& state = peer.state().make_keys();
  if (reply.exposure != 0 && !state.revoked.contains(reply.exposure)) {
    Exposure const exposure{reply.exposed_base, reply.exposed_length, static_cast<Rights>(reply.rights)};
    RemoteExposure& known =
        state.exposures
            .try_emplace(static_cast<ExposureId>(reply.exposure), RemoteExposure{exposure, false, 0})
            .first->second;
    known.usable = !key.empty();
  }
  if (key.empty()) return state.gaps.add(reply.base, reply.base + reply.length);
  if (state.revoked.contains(reply.number)) return;
  RemoteKey made{reply.number, reply.length, nullptr, 0};
  auto it = state.keys.upper_bound(reply.base);
  if (it != state.keys.begin()) --it;
  // The previous segment at this address is gone; its revocation is in flight.
  while (it != state.keys.end() && it->first < reply.base + reply.length) {
    auto const old = it++;
    if (old->first + old->second.length <= reply.base) continue;
    if (old->second.number == reply.number) return;  // two threads have queried
    state.revoked.emplace(old->second.number, old->second);
    state.keys.erase(old);
  }
  ucp_ep_h const endpoint = peer.state().messages.endpoint;
  if (endpoint == nullptr) return;  // the connection was closed meanwhile, and the key with it
  if (ucp_ep_rkey_unpack(endpoint, key.data(), &made.key) != UCS_OK)
    return state.gaps.add(reply.base, reply.base + reply.length);
  state.keys.emplace(reply.base, made);
}

bool NetworkProtocol::revoke(Peer& peer, std::uint64_t number, RemoteAddress base) {
  if (peer.state().keys_if_any() == nullptr) return true;
  NetworkKeys& state = peer.state().make_keys();
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
  // After the loss of the connection, too, UCX uses the key until the parts of the transfers have ended.
  bool const is_unused = peer.state().messages.broken
                             ? peer.state().transfers().are_released(found->second.newest_use)
                             : ended_or_start_flush(peer, found->second.newest_use);
  if (!is_unused) return false;
  if (found->second.key != nullptr) ucp_rkey_destroy(found->second.key);
  state.revoked.erase(found);
  return true;
}

void NetworkProtocol::forget_keys(Peer& peer) noexcept {
  NetworkKeys* const state = peer.state().keys_if_any();
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

namespace {

ucp_request_param_t callback_of(ucp_send_nbx_callback_t callback, void* argument) noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = callback;
  param.user_data = argument;
  return param;
}

void on_part_done(void* request, ucs_status_t status, void* transfer) {
  ucp_request_free(request);
  end_part(*static_cast<UnorderedTransfer*>(transfer), status == UCS_OK ? Status::ok : Status::transport);
}

Status post(UnorderedTransfer& transfer, OpKind direction, std::byte* local, std::size_t bytes,
            RemoteAddress remote, ucp_rkey_h key) {
  ucp_request_param_t const param = callback_of(&on_part_done, &transfer);
  ucp_ep_h const endpoint = transfer.peer->state().messages.endpoint;
  ucs_status_ptr_t const request = direction == OpKind::put
                                       ? ucp_put_nbx(endpoint, local, bytes, remote, key, &param)
                                       : ucp_get_nbx(endpoint, local, bytes, remote, key, &param);
  if (UCS_PTR_IS_ERR(request)) return Status::transport;
  if (UCS_PTR_IS_PTR(request)) add_part(transfer);
  return Status::ok;
}

/// Posts a put or get for each run that is contiguous on both sides.
void post_runs(UnorderedTransfer& transfer, RmaOp const& operation, ucp_rkey_h key) {
  LayoutCursor here(operation.origin_layout);
  LayoutCursor there(operation.target_layout);
  LayoutRun a{0, 0};
  LayoutRun b{0, 0};
  for (std::size_t rest = transfer.bytes; rest != 0 && !failed(transfer.status);) {
    if (a.length == 0) a = here.next();
    if (b.length == 0) b = there.next();
    std::size_t const step = std::min(a.length, b.length);
    transfer.status = post(transfer, operation.kind, operation.origin + a.offset, step,
                           operation.target + static_cast<std::uint64_t>(b.offset), key);
    rest -= step;
    for (LayoutRun* const run : {&a, &b}) {
      run->offset += static_cast<std::ptrdiff_t>(step);
      run->length -= step;
    }
  }
}

void start_flush(Peer& peer) {
  ucp_request_param_t const param = callback_of(
      [](void* request, ucs_status_t status, void* argument) {
        ucp_request_free(request);
        end_flush(*static_cast<Peer*>(argument), status == UCS_OK ? Status::ok : Status::transport);
      },
      &peer);
  ucs_status_ptr_t const request = ucp_ep_flush_nbx(peer.state().messages.endpoint, &param);
  if (UCS_PTR_IS_PTR(request)) return;
  end_flush(peer, UCS_PTR_RAW_STATUS(request) == UCS_OK ? Status::ok : Status::transport);
}

}  // namespace

Issued NetworkProtocol::issue(Peer& peer, RmaOp const& operation, RemoteKey& key) {
  UnorderedTransfer& transfer =
      begin_transfer(peer, operation, {.start_flush = &start_flush, .ends_after_loss = false});
  key.newest_use = transfer.number;
  post_runs(transfer, operation, key.key);
  return end_issue(transfer);
}

void NetworkProtocol::lose_keys(Peer& peer) {
  NetworkKeys* const state = peer.state().keys_if_any();
  if (state == nullptr) return;
  if (peer.state().transfers().pending.empty()) return forget_keys(peer);
  while (!state->keys.empty()) {
    auto const known = state->keys.begin();
    state->revoked.emplace(known->second.number, known->second);
    state->keys.erase(known);  // after the emplace, which may throw
  }
  state->exposures.clear();
}

}  // namespace mpixrma::engine
