#include "engine/path/rdma.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "engine/log.hpp"
#include "engine/peer/peer_state.hpp"

namespace mpix::engine {

namespace {

// Below this size of a contiguous run, one message with all the data is faster than many small puts.
constexpr std::size_t shortest_run = 2048;

bool in_range(RemoteAddress base, std::size_t length, RemoteAddress address, std::size_t bytes) noexcept {
  return address >= base && address - base <= length && bytes <= length - (address - base);
}

}  // namespace

bool RdmaPath::suits(Transfer const& transfer) noexcept {
  // What has to lock or to count is done by the target's agent.
  if (transfer.direction == Direction::accumulate || transfer.notify != 0) return false;
  if (has(transfer.guarantees, Guarantee::atomic | Guarantee::element_atomic)) return false;
  auto const long_runs = [&](Layout const& layout) {
    if (layout.is_contiguous()) return true;
    std::size_t const runs = layout.segments.empty() ? 1 : layout.segments.size();
    return layout.block / runs >= shortest_run;
  };
  return long_runs(transfer.target_layout) && long_runs(transfer.origin_layout);
}

RemoteKey const* RdmaPath::find_key(Peer& peer, Transfer const& transfer) noexcept {
  auto& keys = peer.state().rdma.keys;
  Extent const extent = transfer.target_layout.extent();
  RemoteAddress const begin = transfer.target + static_cast<std::uint64_t>(extent.begin);
  auto const next = keys.upper_bound(begin);
  if (next == keys.begin()) return nullptr;
  auto const& [base, key] = *std::prev(next);
  return in_range(base, key.length, begin, static_cast<std::size_t>(extent.end - extent.begin)) ? &key
                                                                                                : nullptr;
}

bool RdmaPath::add_key(Peer& peer, RemoteAddress base, std::size_t length,
                       std::vector<std::byte> const& packed) {
  forget(peer, base);
  RemoteKey key{length, nullptr};
  if (ucp_ep_rkey_unpack(peer.state().messages.endpoint, packed.data(), &key.key) != UCS_OK) return false;
  peer.state().rdma.keys.emplace(base, key);
  return true;
}

void RdmaPath::forget(Peer& peer, RemoteAddress base) noexcept {
  auto& keys = peer.state().rdma.keys;
  auto const found = keys.find(base);
  if (found == keys.end()) return;
  ucp_rkey_destroy(found->second.key);
  keys.erase(found);
}

void RdmaPath::forget_all(Peer& peer) noexcept {
  auto& keys = peer.state().rdma.keys;
  while (!keys.empty()) forget(peer, keys.begin()->first);
}

Issued RdmaPath::issue(Peer& peer, Transfer const& transfer, RemoteKey const& key) {
  ucp_ep_h const endpoint = peer.state().messages.endpoint;
  RdmaState& state = peer.state().rdma;
  bool const put = transfer.direction == Direction::put;
  bool const remote = put && has(transfer.guarantees, Guarantee::remote_completion);
  std::size_t const total = transfer.target_layout.size();
  // One more than the parts until all are posted, so that the operation does not end in between.
  auto operation = std::make_unique<Operation>(
      Operation{&peer, transfer.completion, transfer.context, total, 1, Status::ok});

  LayoutCursor here(transfer.origin_layout);
  LayoutCursor there(transfer.target_layout);
  Segment a{0, 0};
  Segment b{0, 0};
  for (std::size_t rest = total; rest != 0 && !failed(operation->status);) {
    if (a.length == 0) a = here.next();
    if (b.length == 0) b = there.next();
    std::size_t const step = std::min(a.length, b.length);
    operation->status = post(endpoint, *operation, transfer.direction, transfer.origin + a.offset, step,
                             transfer.target + static_cast<std::uint64_t>(b.offset), key.key);
    rest -= step;
    for (Segment* const run : {&a, &b}) {
      run->offset += static_cast<std::ptrdiff_t>(step);
      run->length -= step;
    }
  }
  if (put) state.dirty = true;
  if (remote && !failed(operation->status) && transfer.completion != nullptr) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = &RdmaPath::on_part_done;
    param.user_data = operation.get();
    ucs_status_ptr_t const request = ucp_ep_flush_nbx(endpoint, &param);
    if (UCS_PTR_IS_ERR(request)) operation->status = Status::transport;
    if (UCS_PTR_IS_PTR(request)) ++operation->pending;
  }
  --operation->pending;
  // A position of the message stream that is reached already: Engine::complete looks at `dirty` then.
  std::uint64_t const sequence = std::max<std::uint64_t>(peer.newest(), 1);
  if (operation->pending == 0) return {operation->status, true, sequence};
  ++state.pending;
  (void)operation.release();  // on_part_done takes it back
  return {Status::ok, false, sequence};
}

Status RdmaPath::post(ucp_ep_h endpoint, Operation& operation, Direction direction, std::byte* local,
                      std::size_t bytes, RemoteAddress remote, ucp_rkey_h key) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &RdmaPath::on_part_done;
  param.user_data = &operation;
  ucs_status_ptr_t const request = direction == Direction::put
                                       ? ucp_put_nbx(endpoint, local, bytes, remote, key, &param)
                                       : ucp_get_nbx(endpoint, local, bytes, remote, key, &param);
  if (UCS_PTR_IS_ERR(request)) return Status::transport;
  if (UCS_PTR_IS_PTR(request)) ++operation.pending;
  return Status::ok;
}

void RdmaPath::on_part_done(void* request, ucs_status_t status, void* argument) {
  ucp_request_free(request);
  auto& operation = *static_cast<Operation*>(argument);
  if (status != UCS_OK && !failed(operation.status)) operation.status = Status::transport;
  if (--operation.pending != 0) return;
  std::unique_ptr<Operation> const owned(&operation);
  RdmaState& state = operation.peer->state().rdma;
  --state.pending;
  if (operation.completion != nullptr) {
    operation.completion->done(*operation.completion, operation.status, operation.bytes);
  } else if (failed(operation.status)) {
    operation.peer->state().messages.errors.push_back({operation.context, operation.status});
  }
}

Status RdmaPath::flush(Peer& peer, bool* done) {
  RdmaState& state = peer.state().rdma;
  state.dirty = false;
  state.flush_first = false;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = [](void* request, ucs_status_t, void* argument) {
    *static_cast<bool*>(argument) = true;
    ucp_request_free(request);
  };
  param.user_data = done;
  ucs_status_ptr_t const request = ucp_ep_flush_nbx(peer.state().messages.endpoint, &param);
  if (UCS_PTR_IS_ERR(request)) return Status::transport;
  *done = !UCS_PTR_IS_PTR(request);
  return Status::ok;
}

std::vector<std::byte> Registrations::key_of(OwnSegment const& segment) {
  auto const known = registered_.find(segment.base);
  if (known != registered_.end()) return known->second.key;
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = reinterpret_cast<void*>(segment.base);
  params.length = segment.length;
  Registration registration;
  if (ucp_mem_map(transport_.context(), &params, &registration.memory) != UCS_OK) return {};
  void* packed = nullptr;
  std::size_t bytes = 0;
  if (ucp_rkey_pack(transport_.context(), registration.memory, &packed, &bytes) == UCS_OK) {
    auto const* const begin = static_cast<std::byte const*>(packed);
    registration.key.assign(begin, begin + bytes);
    ucp_rkey_buffer_release(packed);
  }
  auto key = registration.key;
  registered_.emplace(segment.base, std::move(registration));
  return key;
}

void Registrations::remove(RemoteAddress base) noexcept {
  auto const found = registered_.find(base);
  if (found == registered_.end()) return;
  (void)ucp_mem_unmap(transport_.context(), found->second.memory);
  registered_.erase(found);
}

void Registrations::clear() noexcept {
  while (!registered_.empty()) remove(registered_.begin()->first);
}

}  // namespace mpix::engine
