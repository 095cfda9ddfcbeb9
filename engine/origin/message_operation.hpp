/// Conversion of operations to the requests of the message protocol.
#pragma once

#include <cstddef>

#include "engine/net/wire.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/fragment.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

/// An operation in the form of requests.
struct MessageOperation {
  /// Complete except for `session`, `sequence`, and the fields that header_of() sets for each fragment.
  wire::RequestHeader header{};
  Layout target;
  /// Data sent to the target: `source` and, for operations with two operands, `source2`, both with the layout
  /// `source_layout`. Null: the request carries no data.
  std::byte const* source = nullptr;
  Layout source_layout;
  std::byte const* source2 = nullptr;
  /// Destination of returned data. Null: no data is returned.
  std::byte* sink = nullptr;
  Layout sink_layout;
  std::size_t total = 0;                 ///< bytes at the target
  bool completes_when_executed = false;  ///< complete when executed at the target, not when sent
  /// Of several messages, to this process itself, sent again, or without a position.
  bool excluded_from_batch = false;
  bool holds_stripes = false;   ///< of this process, until it is executed
  bool lock_may_batch = false;  ///< for a lock request or release: may be sent in a batch
  /// Sent at once, together with the open batch, if any; that message's acknowledgement may be delayed.
  bool delayed_ack = false;
  RemoteAddress notify = 0;
  StripeSets target_stripes;  ///< for an atomic operation
  Completion* completion = nullptr;

  bool has_data() const noexcept { return source != nullptr; }
  /// Returns the number of operands sent, each of as many bytes as the target data.
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

wire::RequestKind request_kind_of(RmaOp const& operation) noexcept;

/// Returns the operation's target and data. Of the flags, only flag_fetch, flag_scale and flag_rmw are set;
/// the caller sets the others, the context, the counter and the completion.
MessageOperation message_of(RmaOp const& operation) noexcept;

/// The side that acquires the stripes of the target.
enum class StripeHolder : bool { target, origin };

/// Returns the wire flags for the flags of an operation that is executed on arrival.
std::uint16_t flags_for_execution(RmaOp const& operation, StripeHolder holder) noexcept;

/// Returns the flags by which each element is accessed atomically: flag_elements for an update, flag_atomic
/// for all others.
std::uint16_t element_flags(wire::RequestKind kind, OpFlags op_flags) noexcept;

/// Returns the layout that the fragment's request describes.
Layout described_by(MessageOperation const& operation, Fragment const& fragment) noexcept;

/// How a request describes the runs of its target.
enum class RunForm : bool {
  full,
  shortest  ///< with wire::flag_equal_runs where that is possible
};

/// Returns the fragment's header, complete except for the session and the position in a stream.
wire::RequestHeader header_of(MessageOperation const& operation, Fragment const& fragment,
                              Layout const& described, RunForm form) noexcept;

/// Returns the size of the layout's description and of the data behind it. `header`: from header_of().
std::size_t payload_bytes_of(MessageOperation const& operation, wire::RequestHeader const& header) noexcept;
void write_payload(std::byte* out, MessageOperation const& operation, wire::RequestHeader const& header,
                   Layout const& described) noexcept;

}  // namespace mpixrma::engine
