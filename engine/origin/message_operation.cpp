#include "engine/origin/message_operation.hpp"

#include <cstring>

#include "engine/net/request_run.hpp"
#include "engine/op/kernel/kernels.hpp"

namespace mpixrma::engine {

namespace {

/// Sets the fields that only updates have.
void describe_update(RmaOp const& update, wire::RequestHeader& header) noexcept {
  header.element_type = static_cast<std::uint8_t>(update.type);
  header.operation = static_cast<std::uint8_t>(update.reduce_op);
  if (update.scale != nullptr) {
    header.flags |= wire::flag_scale;
    std::memcpy(header.scale, update.scale, element_size(update.type));
  }
  if (update.fetches()) header.flags |= wire::flag_fetch;
  if (has(update.flags, OpFlags::read_modify_write)) header.flags |= wire::flag_rmw;
}

/// Whether the runs can be sent as offsets.
bool are_equal(std::span<LayoutRun const> runs) noexcept {
  if (runs.size() < 2 || runs.size() > wire::max_equal_runs) return false;
  constexpr unsigned offset_bits = 8 * sizeof(wire::WireOffset);
  std::uint64_t differing = 0;  // without a branch for each run
  for (LayoutRun const& run : runs) {
    std::uint64_t const above_least = static_cast<std::uint64_t>(run.offset) + (1ull << (offset_bits - 1));
    differing |= (run.length ^ runs.front().length) | above_least >> offset_bits;
  }
  return differing == 0;
}

std::byte* write_bytes(std::byte* out, std::span<std::byte const> bytes) noexcept {
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

std::byte* write_offsets(std::byte* out, std::span<LayoutRun const> runs) noexcept {
  std::byte* at = out;
  for (LayoutRun const& run : runs) {
    auto const offset = static_cast<wire::WireOffset>(run.offset);
    std::memcpy(at, &offset, sizeof offset);
    at += sizeof offset;
  }
  std::byte* const end = out + wire::padded(runs.size() * sizeof(wire::WireOffset));
  std::memset(at, 0, static_cast<std::size_t>(end - at));
  return end;
}

}  // namespace

wire::RequestKind request_kind_of(RmaOp const& operation) noexcept {
  switch (operation.kind) {
    case OpKind::put: return wire::RequestKind::put;
    case OpKind::get: return wire::RequestKind::get;
    default: return wire::RequestKind::update;
  }
}

MessageOperation message_of(RmaOp const& operation) noexcept {
  MessageOperation message;
  message.header = wire::begin_header<wire::RequestHeader>(request_kind_of(operation));
  message.header.address = operation.target;
  message.header.exposure = static_cast<std::uint64_t>(operation.exposed.target);
  message.target = operation.target_layout;
  message.header.total = message.total = operation.target_layout.size();
  if (operation.is_update()) describe_update(operation, message.header);
  unsigned const operands = operation.operands();
  if (operands > 0) {
    message.source = operation.origin;
    message.source_layout = operation.origin_layout;
  }
  if (operands > 1) message.source2 = operation.operand2;
  if (operation.fetches()) {
    message.sink = operation.sink();
    message.sink_layout = operation.sink_layout();
  }
  return message;
}

std::uint16_t flags_for_execution(RmaOp const& operation, StripeHolder holder) noexcept {
  bool const held = holder == StripeHolder::origin;
  bool const update = operation.is_update();
  unsigned flags = held ? wire::flag_held : wire::RequestFlag{};
  if (has(operation.flags, OpFlags::target_registered)) flags |= wire::flag_registered;
  // Under the stripes of the origin as well: the first update of a single element switches its memory to
  // updates of single elements, which needs the stripe.
  bool const elements =
      held ? update && !has(operation.flags, OpFlags::atomic) : has(operation.flags, OpFlags::element_atomic);
  if (elements)
    flags |= element_flags(update ? wire::RequestKind::update : wire::RequestKind::put, operation.flags);
  if (update && operation.fetches()) flags |= wire::flag_fetch;
  return static_cast<std::uint16_t>(flags);
}

std::uint16_t element_flags(wire::RequestKind kind, OpFlags op_flags) noexcept {
  if (kind != wire::RequestKind::update) return wire::flag_atomic;
  unsigned const arrays = has(op_flags, OpFlags::keeps_arrays) ? wire::flag_arrays : 0;
  return static_cast<std::uint16_t>(wire::flag_elements | arrays);
}

Layout described_by(MessageOperation const& operation, Fragment const& fragment) noexcept {
  return fragment.whole ? operation.target
                        : Layout{fragment.layout_offset + fragment.bytes, {}, fragment.runs};
}

wire::RequestHeader header_of(MessageOperation const& operation, Fragment const& fragment,
                              Layout const& described, RunForm form) noexcept {
  wire::RequestHeader header = operation.header;
  header.dimensions = static_cast<std::uint8_t>(described.dims.size());
  header.runs = static_cast<std::uint32_t>(described.runs.size());
  header.block = described.block;
  header.layout_offset = fragment.layout_offset;
  header.bytes = fragment.bytes;
  header.operation_offset = fragment.offset;
  if (form == RunForm::shortest && are_equal(described.runs)) header.flags |= wire::flag_equal_runs;
  return header;
}

std::size_t payload_bytes_of(MessageOperation const& operation, wire::RequestHeader const& header) noexcept {
  return wire::description_bytes(header) + operation.sources() * header.bytes;
}

void write_payload(std::byte* out, MessageOperation const& operation, wire::RequestHeader const& header,
                   Layout const& described) noexcept {
  out = write_bytes(out, std::as_bytes(described.dims));
  out = wire::has_equal_runs(header) ? write_offsets(out, described.runs)
                                     : write_bytes(out, std::as_bytes(described.runs));
  for (std::byte const* const source : {operation.source, operation.source2}) {
    if (source == nullptr) continue;
    pack(out, source, operation.source_layout, header.operation_offset, header.bytes);
    out += header.bytes;
  }
}

}  // namespace mpixrma::engine
