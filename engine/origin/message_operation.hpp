/// An operation as requests to whoever executes it at the target.
#pragma once

#include <cstddef>

#include "engine/net/wire.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/fragment.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

/// What transfers and updates have in common as requests.
struct MessageOperation {
  /// Complete but for the fields that differ by fragment: sequence, position, bytes, offset.
  wire::RequestHeader header{};
  Layout target;
  /// Data that goes to the target: `source` and then, for operations with two operands, `source2`, both in
  /// `source_layout`. Null: the request carries no data.
  std::byte const* source = nullptr;
  Layout source_layout;
  std::byte const* source2 = nullptr;
  /// Where data that comes back goes. Null: nothing comes back.
  std::byte* sink = nullptr;
  Layout sink_layout;
  std::size_t total = 0;        ///< bytes at the target
  bool until_executed = false;  ///< complete when executed at the target, not when sent
  bool travels_alone = false;   ///< holds stripes of this process until it is answered
  bool joins = false;           ///< of a lock: leaves with what else is to leave
  RemoteAddress notify = 0;
  StripeSets target_stripes;  ///< of an atomic operation
  Completion* completion = nullptr;

  bool has_data() const noexcept { return source != nullptr; }
  /// Copies of the target's number of bytes that go there.
  std::size_t sources() const noexcept {
    return (source != nullptr ? 1u : 0u) + (source2 != nullptr ? 1u : 0u);
  }
  bool expects_data() const noexcept { return sink != nullptr; }
  /// As in FragmentLimits.
  std::size_t element_bytes() const noexcept {
    std::size_t const element = element_size(static_cast<ElementType>(header.element_type));
    return (element & (element - 1)) == 0 ? 1 : element;
  }
};

/// Without guarantees, and without what depends on them.
MessageOperation message_of(Transfer const& transfer) noexcept;
MessageOperation message_of(Update const& update) noexcept;

/// Flags for the guarantees of an operation that is executed as soon as it arrives. `held`: its origin holds
/// the stripes of the target.
std::uint16_t flags_for_execution(Transfer const& transfer, bool held) noexcept;
std::uint16_t flags_for_execution(Update const& update, bool held) noexcept;

/// The layout that the fragment's request describes.
Layout described_by(MessageOperation const& operation, Fragment const& fragment) noexcept;

/// All but the place in a stream.
wire::RequestHeader header_of(MessageOperation const& operation, Fragment const& fragment,
                              Layout const& described) noexcept;

/// The description of the layout, and the fragment's data behind it.
std::size_t payload_bytes_of(MessageOperation const& operation, Fragment const& fragment,
                             Layout const& described) noexcept;
void write_payload(std::byte* out, MessageOperation const& operation, Fragment const& fragment,
                   Layout const& described) noexcept;

}  // namespace mpixrma::engine
