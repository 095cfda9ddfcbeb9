/// OriginStreams: operations that continue a run of the batch that is being filled.
#include <algorithm>
#include <cstring>

#include "engine/op/kernel/kernels.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/origin_streams.hpp"

namespace mpixrma::engine {

namespace {

/// Returns the flags of the request of this kind for an operation with `op_flags`.
unsigned flags_of(wire::RequestKind kind, OpFlags op_flags) noexcept {
  unsigned flags = 0;
  if (has(op_flags, OpFlags::target_registered)) flags |= wire::flag_registered;
  if (has(op_flags, OpFlags::read_modify_write)) flags |= wire::flag_rmw;
  if (has(op_flags, OpFlags::element_atomic)) flags |= element_flags(kind, op_flags);
  return flags;
}

/// Whether the operation's request would differ from the request `header` in position, address and data
/// alone.
bool is_alike(wire::RequestHeader const& header, RunOperation const& operation) noexcept {
  if (header.bytes != operation.bytes || header.context != operation.context) return false;
  if (header.exposure != static_cast<std::uint64_t>(operation.exposure)) return false;
  bool const put = operation.kind == OpKind::put;
  wire::RequestKind const kind = put ? wire::RequestKind::put : wire::RequestKind::update;
  if (header.kind != kind || header.flags != flags_of(kind, operation.flags)) return false;
  return put || (header.element_type == static_cast<std::uint8_t>(operation.type) &&
                 header.operation == static_cast<std::uint8_t>(operation.reduce_op));
}

}  // namespace

std::uint64_t OriginStreams::continue_run(Peer& peer, RunOperation const& operation) {
  OriginStream& stream = peer.state().messages;
  if (!stream.has_open_batch() || stream.unsent != nullptr || !stream.batch->records.may_extend()) return 0;
  auto& records = stream.batch->records;
  wire::RequestHeader const& last = records.last();
  if (last.sequence != peer.newest() || !is_alike(last, operation)) return 0;
  if (!stream.may_send() || is_full(peer)) return 0;
  bool const in_order = has(operation.flags, OpFlags::ordered | OpFlags::overlap_ordered);
  std::uint64_t const after =
      in_order ? std::max(stream.followed_by_all, stream.ordered) : stream.followed_by_all;
  bool const chained = after == last.sequence;
  if (!chained && after != last.after) return 0;
  std::byte* const data = records.extend(operation.target, 0, chained);
  if (data == nullptr) return 0;
  if (operation.bytes == sizeof(std::uint64_t)) {
    std::memcpy(data, operation.origin, sizeof(std::uint64_t));
  } else {
    copy_bytes(data, operation.origin, operation.bytes);
  }
  std::uint64_t const sequence = peer.reserve(1);
  if (in_order) stream.ordered = sequence;
  stream.untracked.note(operation.context, sequence);
  sender_.note_appended(peer, last, operation.bytes);
  return sequence;
}

}  // namespace mpixrma::engine
