#include "engine/net/wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/net/batch.hpp"
#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/whole_elements.hpp"

namespace mpixrma::engine::wire {

namespace {

bool add(std::uint64_t a, std::uint64_t b, std::uint64_t* sum) noexcept {
  return !__builtin_add_overflow(a, b, sum);
}

/// Returns whether the layout's size and extent can be computed without overflow, and its size.
bool measure(RequestHeader const& header, Layout const& layout, std::uint64_t* size) noexcept {
  std::uint64_t block = header.block;
  std::int64_t farthest = 0;  // largest distance from the base, in either direction
  // Or a few bytes of data could cost a walk over very many empty runs.
  if (!layout.dims.empty() && layout.runs.size() > max_repeated_runs) return false;
  if (!layout.runs.empty()) {
    block = 0;
    for (LayoutRun const& run : layout.runs) {
      if (!add(block, run.length, &block)) return false;
      std::int64_t end = 0;
      if (run.length > INT64_MAX) return false;
      if (__builtin_add_overflow(run.offset, static_cast<std::int64_t>(run.length), &end)) return false;
      if (run.offset == INT64_MIN) return false;
      farthest = std::max({farthest, end < 0 ? -end : end, run.offset < 0 ? -run.offset : run.offset});
    }
    if (block != header.block) return false;
  } else {
    if (block > INT64_MAX) return false;
    farthest = static_cast<std::int64_t>(block);
  }
  for (Dimension const& dimension : layout.dims) {
    if (__builtin_mul_overflow(block, dimension.count, &block)) return false;
    if (dimension.count == 0) continue;
    std::int64_t span = 0;
    if (dimension.count > INT64_MAX || dimension.stride == INT64_MIN) return false;
    std::int64_t const stride = dimension.stride < 0 ? -dimension.stride : dimension.stride;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(dimension.count), stride, &span)) return false;
    if (__builtin_add_overflow(farthest, span, &farthest)) return false;
  }
  *size = block;
  return farthest <= INT64_MAX / 2;
}

bool known_operation(RequestHeader const& header) noexcept {
  switch (header.kind) {
    case RequestKind::update:
      return header.element_type < static_cast<unsigned>(ElementType::count_) &&
             header.operation < static_cast<unsigned>(ReduceOp::count_) &&
             is_valid({.type = static_cast<ElementType>(header.element_type),
                       .operation = static_cast<ReduceOp>(header.operation),
                       .scale = (header.flags & flag_scale) != 0 ? header.scale : nullptr});
    case RequestKind::lock_request: return header.operation < static_cast<unsigned>(LockRequestKind::count_);
    case RequestKind::lock_release: return header.operation < static_cast<unsigned>(LockReleaseKind::count_);
    default: return true;
  }
}

/// Whether the request costs its receiver no more than a legitimate one would: work without corresponding
/// data is bounded.
bool is_reasonable(RequestHeader const& header) noexcept {
  switch (header.kind) {
    case RequestKind::put:
    case RequestKind::handshake: return true;
    case RequestKind::get:
    case RequestKind::update: return bytes_without_payload(header) <= max_bytes_without_payload;
    default: return header.bytes == 0;
  }
}

/// Whether a lock request contains only a lock and an owner.
bool is_plain(RequestHeader const& header) noexcept {
  RequestKind const kind = header.kind;
  if (kind != RequestKind::lock_request && kind != RequestKind::lock_release) return true;
  bool const moves = header.dimensions != 0 || header.runs != 0 || header.block != 0 || header.total != 0;
  bool const in_range = header.address <= UINT32_MAX && header.owner < max_lock_owners;
  return !moves && in_range && (header.flags & ~(flag_delayed_ack | flag_in_stream)) == 0;
}

/// Returns the size of the arrays of a Layout.
std::size_t layout_bytes(RequestHeader const& header) noexcept {
  return header.dimensions * sizeof(WireDimension) + std::size_t{header.runs} * sizeof(WireRun);
}

/// Copies the arrays of the layout from the payload to `room`.
void copy_layout(RequestHeader const& header, std::span<std::byte const> payload,
                 std::span<std::byte> room) noexcept {
  if (!has_equal_runs(header)) {
    std::copy_n(payload.begin(), layout_bytes(header), room.begin());
    return;
  }
  std::size_t const dims = header.dimensions * sizeof(WireDimension);
  std::copy_n(payload.begin(), dims, room.begin());
  auto* const runs = reinterpret_cast<LayoutRun*>(room.data() + dims);
  std::byte const* const offsets = payload.data() + dims;
  std::size_t const length = header.block / header.runs;
  for (std::size_t i = 0; i < header.runs; ++i) {
    WireOffset offset = 0;
    std::memcpy(&offset, offsets + i * sizeof offset, sizeof offset);
    runs[i] = {offset, length};
  }
}

/// For typed operations every boundary must fall between elements.
bool whole_elements(CheckedRequest const& request) noexcept {
  auto const type = static_cast<ElementType>(request.header.element_type);
  std::size_t const element = element_size(type);
  if (request.header.kind != RequestKind::update || element <= 1) return true;
  if (request.header.bytes % element != 0 || request.header.layout_offset % element != 0) return false;
  return has_whole_elements(request.layout, type);
}

/// Checks all fields except the layout.
char const* check_fields(RequestHeader const& fields) noexcept {
  if (fields.magic != magic || fields.version != version) return "foreign or outdated request";
  if (fields.kind < RequestKind::put || fields.kind > RequestKind::lock_release) {
    return "unknown kind of request";
  }
  bool const handshake = fields.kind == RequestKind::handshake;
  bool const in_stream = fields.sequence != 0 && fields.after < fields.sequence;
  bool const alone = fields.sequence == 0 && fields.after == 0 && fields.session == 0;
  if (handshake ? !alone : !in_stream) return "request out of sequence";
  if (fields.dimensions > max_dimensions) return "too many dimensions";
  if (fields.notify % sizeof(std::uint64_t) != 0) return "misaligned counter";
  if (fields.kind > RequestKind::update) {
    if ((fields.notify | fields.notify_exposure) != 0) return "counter of a request without data";
    bool const asks = fields.kind == RequestKind::find_segment;
    if (fields.exposure != 0 && !asks) return "exposure of a request without data";
  }
  bool const has_operation_id = fields.operation_id != 0;
  bool const asks_for_lock = fields.kind == RequestKind::lock_request && !locks_in_stream(fields);
  bool const has_own_reply = fields.kind == RequestKind::stripe_lock || asks_for_lock;
  if (has_own_reply && !has_operation_id) return "lock without an operation id";
  bool const divides = fields.runs != 0 && fields.runs <= max_equal_runs && fields.block % fields.runs == 0;
  if (has_equal_runs(fields) && !(divides && moves_data(fields))) return "runs of unequal lengths";
  if (!known_operation(fields)) return "undefined operation";
  if (!is_plain(fields)) return "unexpected fields in a lock request";
  return nullptr;
}

/// `description` is the part of the payload, or of its copy, that describes the layout.
char const* check_layout(std::span<std::byte const> description, std::span<std::byte const> data,
                         CheckedRequest* out) noexcept {
  RequestHeader const& fields = out->header;
  out->layout.block = fields.block;
  out->layout.dims = {reinterpret_cast<Dimension const*>(description.data()), fields.dimensions};
  out->layout.runs = {
      reinterpret_cast<LayoutRun const*>(description.data() + fields.dimensions * sizeof(WireDimension)),
      fields.runs};
  std::uint64_t size = 0;
  if (!measure(fields, out->layout, &size)) return "layout overflows";
  if (fields.layout_offset > size || fields.bytes > size - fields.layout_offset)
    return "range outside of the layout";
  if (fields.operation_offset > fields.total || fields.bytes > fields.total - fields.operation_offset)
    return "range outside of the operation";

  out->data = data;
  if (fields.bytes > SIZE_MAX / 2 || out->data.size() != copies_of_data(fields) * fields.bytes)
    return "data does not fit the request";
  if (!is_reasonable(fields)) return "request exceeds the permitted size";
  if (!whole_elements(*out)) return "partial element";
  return nullptr;
}

}  // namespace

std::size_t description_bytes(RequestHeader const& header) noexcept {
  if (!has_equal_runs(header)) return layout_bytes(header);
  return header.dimensions * sizeof(WireDimension) + padded(header.runs * sizeof(WireOffset));
}

unsigned copies_of_data(RequestHeader const& header) noexcept {
  switch (header.kind) {
    case RequestKind::put:
    case RequestKind::handshake: return 1;
    case RequestKind::update: return operand_count(static_cast<ReduceOp>(header.operation));
    default: return 0;
  }
}

char const* check(std::span<std::byte const> header, std::span<std::byte const> payload, CheckedRequest* out,
                  std::span<std::byte> copy) noexcept {
  if (header.size() != sizeof(RequestHeader)) return "request header of wrong size";
  std::memcpy(&out->header, header.data(), sizeof out->header);
  if (char const* const fault = check_fields(out->header)) return fault;
  std::size_t const described = description_bytes(out->header);
  if (payload.size() < described) return "layout does not fit into the payload";
  if (copy.empty() && !has_equal_runs(out->header))
    return check_layout(payload.first(described), payload.subspan(described), out);
  std::size_t const copied = layout_bytes(out->header);
  if (copy.size() < copied) return "layout does not fit into the payload";
  copy_layout(out->header, payload, copy);
  return check_layout(copy.first(copied), payload.subspan(described), out);
}

std::size_t copy_bytes_for(std::span<std::byte const> header, std::size_t payload_bytes) noexcept {
  RequestHeader fields;
  if (header.size() != sizeof fields) return 0;
  std::memcpy(&fields, header.data(), offsetof(RequestHeader, context));
  if (!has_equal_runs(fields)) return 0;
  // Or check() refuses it.
  bool const fits = fields.runs <= max_equal_runs && description_bytes(fields) <= payload_bytes;
  return fits ? layout_bytes(fields) : 0;
}

std::size_t viewed_bytes(CheckedRequest const& request) noexcept {
  return request.layout.dims.size_bytes() + request.layout.runs.size_bytes() + request.data.size();
}

CheckedRequest copy_of(CheckedRequest const& request, std::byte* room) noexcept {
  auto const moved = [&]<typename Element>(std::span<Element const> view) -> std::span<Element const> {
    if (view.empty()) return {};
    std::byte* const begin = std::exchange(room, room + view.size_bytes());
    std::memcpy(begin, view.data(), view.size_bytes());
    return {reinterpret_cast<Element const*>(begin), view.size()};
  };
  CheckedRequest copy = request;
  copy.layout.dims = moved(request.layout.dims);
  copy.layout.runs = moved(request.layout.runs);
  copy.data = moved(request.data);
  return copy;
}

std::uint64_t session_of(std::span<std::byte const> header) noexcept {
  RequestHeader fields;
  if (header.size() != sizeof fields) return 0;
  std::memcpy(&fields, header.data(), offsetof(RequestHeader, sequence));
  return fields.magic == magic && fields.version == version ? fields.session : 0;
}

bool has_position(std::span<std::byte const> header, RequestHeader* out) noexcept {
  if (header.size() != sizeof *out) return false;
  std::memcpy(out, header.data(), sizeof *out);
  return out->magic == magic && out->version == version && out->sequence != 0;
}

char const* check(std::span<std::byte const> header, std::span<std::byte const> payload,
                  ReplyHeader* out) noexcept {
  if (header.size() != sizeof(ReplyHeader)) return "reply header of wrong size";
  std::memcpy(out, header.data(), sizeof *out);
  if (out->magic != magic || out->version != version) return "foreign or outdated reply";
  if (out->kind < ReplyKind::executed || out->kind > ReplyKind::busy) {
    return "unknown kind of reply";
  }
  if (out->status >= static_cast<unsigned>(Status::count_)) return "unknown status";
  if (out->bytes != payload.size()) return "payload size does not match the reply";
  return nullptr;
}

ReportedOperation reported_operation(RequestHeader const& header) noexcept {
  switch (header.kind) {
    case RequestKind::put: return ReportedOperation::put;
    case RequestKind::get: return ReportedOperation::get;
    case RequestKind::update:
      return is_fetching(header) || (header.flags & flag_rmw) != 0 ? ReportedOperation::read_modify_write
                                                                   : ReportedOperation::accumulate;
    case RequestKind::lock_request: return ReportedOperation::lock;
    case RequestKind::lock_release: return ReportedOperation::unlock;
    default: return ReportedOperation::unknown;
  }
}

FailureReply failure_reply(RequestHeader const& header, std::uint64_t exposed_base) noexcept {
  FailureReply reply{};
  bool const contiguous = header.dimensions == 0 && header.runs == 0;
  reply.kind = static_cast<std::uint8_t>(reported_operation(header));
  reply.contiguous = contiguous ? 1 : 0;
  reply.address = header.address - exposed_base;
  reply.bytes = header.total;
  reply.exposure = header.exposure;
  std::memcpy(reply.position, &header.sequence, sizeof reply.position);
  return reply;
}

LateError late_error(Status status, std::span<std::byte const> payload) noexcept {
  FailureReply reply{};
  if (payload.size() != sizeof reply) return {status, ReportedOperation::unknown, {}};
  std::memcpy(&reply, payload.data(), sizeof reply);
  bool const known = reply.kind < static_cast<unsigned>(ReportedOperation::count_);
  IssueMark issued;
  std::memcpy(&issued.message, reply.position, sizeof reply.position);
  return {status,
          known ? static_cast<ReportedOperation>(reply.kind) : ReportedOperation::unknown,
          {reply.address, reply.bytes, reply.contiguous == 1, static_cast<ExposureId>(reply.exposure)},
          LateError::of_peer,
          issued};
}

std::uint64_t bytes_without_payload(RequestHeader const& header) noexcept {
  return is_fetching(header) || copies_of_data(header) == 0 ? header.bytes : 0;
}

std::uint64_t batch_session_of(std::span<std::byte const> header) noexcept {
  BatchHeader fields;
  return check(header, &fields) == nullptr ? fields.session : 0;
}

char const* check(std::span<std::byte const> header, BatchHeader* out) noexcept {
  if (header.size() != sizeof(BatchHeader)) return "header of a batch of wrong size";
  std::memcpy(out, header.data(), sizeof *out);
  bool const known = out->magic == magic && out->version == version && out->kind == 0;
  return known ? nullptr : "foreign or outdated batch";
}

char const* check(std::span<std::byte const> header, DisconnectHeader* out) noexcept {
  if (header.size() != sizeof(DisconnectHeader)) return "disconnect of wrong size";
  std::memcpy(out, header.data(), sizeof *out);
  if (out->magic != magic || out->version != version) return "foreign or outdated disconnect";
  bool const known = out->kind >= Disconnect::request && out->kind <= Disconnect::message_rejected;
  return known ? nullptr : "unknown kind of disconnect";
}

}  // namespace mpixrma::engine::wire
