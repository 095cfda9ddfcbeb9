#include "engine/origin/message_operation.hpp"

#include <cstring>

#include "engine/op/kernel/kernels.hpp"

namespace mpixrma::engine {

namespace {

/// Sets the fields common to all operations.
template <typename Operation>
MessageOperation begin_message(wire::RequestKind kind, Operation const& operation) noexcept {
  MessageOperation message;
  message.header = wire::begin_header<wire::RequestHeader>(kind);
  message.header.address = operation.target;
  message.header.exposure = static_cast<std::uint64_t>(operation.exposed.target);
  message.target = operation.target_layout;
  message.header.total = message.total = operation.target_layout.size();
  return message;
}

/// `element_flag` requests atomicity of each element if the stripes are not held.
unsigned flags_of(Guarantee guarantees, bool held, wire::RequestFlag element_flag) noexcept {
  unsigned flags = held ? wire::flag_held : wire::RequestFlag{};
  if (has(guarantees, Guarantee::target_registered)) flags |= wire::flag_registered;
  if (!held && has(guarantees, Guarantee::element_atomic)) flags |= element_flag;
  return flags;
}

}  // namespace

MessageOperation message_of(Transfer const& transfer) noexcept {
  bool const get = transfer.direction == Direction::get;
  MessageOperation message = begin_message(get ? wire::RequestKind::get : wire::RequestKind::put, transfer);
  if (get) {
    message.sink = transfer.origin;
    message.sink_layout = transfer.origin_layout;
  } else {
    message.source = transfer.origin;
    message.source_layout = transfer.origin_layout;
  }
  return message;
}

MessageOperation message_of(Update const& update) noexcept {
  MessageOperation message = begin_message(wire::RequestKind::update, update);
  wire::RequestHeader& header = message.header;
  header.element_type = static_cast<std::uint8_t>(update.type);
  header.operation = static_cast<std::uint8_t>(update.operation);
  if (update.scale != nullptr) {
    header.flags |= wire::flag_scale;
    std::memcpy(header.scale, update.scale, element_size(update.type));
  }
  unsigned const operands = operand_count(update.operation);
  if (operands > 0) {
    message.source = update.origin;
    message.source_layout = update.origin_layout;
  }
  if (operands > 1) message.source2 = update.operand2;
  if (update.result != nullptr) {
    header.flags |= wire::flag_fetch;
    message.sink = update.result;
    message.sink_layout = update.result_layout;
  }
  return message;
}

std::uint16_t flags_for_execution(Transfer const& transfer, bool held) noexcept {
  return static_cast<std::uint16_t>(flags_of(transfer.guarantees, held, wire::flag_atomic));
}

std::uint16_t flags_for_execution(Update const& update, bool held) noexcept {
  unsigned flags = flags_of(update.guarantees, held, wire::flag_elements);
  // The first update of a single element switches the mode of its memory, for which the stripe is held.
  if (held && !has(update.guarantees, Guarantee::atomic)) flags |= wire::flag_elements;
  if (update.result != nullptr) flags |= wire::flag_fetch;
  return static_cast<std::uint16_t>(flags);
}

Layout described_by(MessageOperation const& operation, Fragment const& fragment) noexcept {
  return fragment.whole ? operation.target : Layout{fragment.bytes, {}, fragment.segments};
}

wire::RequestHeader header_of(MessageOperation const& operation, Fragment const& fragment,
                              Layout const& described) noexcept {
  wire::RequestHeader header = operation.header;
  header.dimensions = static_cast<std::uint8_t>(described.dims.size());
  header.segments = static_cast<std::uint32_t>(described.segments.size());
  header.block = described.block;
  header.position = fragment.position;
  header.bytes = fragment.bytes;
  header.offset = fragment.offset;
  return header;
}

std::size_t payload_bytes_of(MessageOperation const& operation, Fragment const& fragment,
                             Layout const& described) noexcept {
  return described.dims.size_bytes() + described.segments.size_bytes() + operation.sources() * fragment.bytes;
}

void write_payload(std::byte* out, MessageOperation const& operation, Fragment const& fragment,
                   Layout const& described) noexcept {
  auto const copy = [&](auto const& description) {
    if (description.empty()) return;
    std::memcpy(out, description.data(), description.size_bytes());
    out += description.size_bytes();
  };
  copy(described.dims);
  copy(described.segments);
  for (std::byte const* const source : {operation.source, operation.source2}) {
    if (source == nullptr) continue;
    pack(out, source, operation.source_layout, fragment.offset, fragment.bytes);
    out += fragment.bytes;
  }
}

}  // namespace mpixrma::engine
