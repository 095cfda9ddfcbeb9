/// The operations that the engine carries out, described as data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/remote_address.hpp"
#include "engine/base/status.hpp"
#include "engine/op/kernel/kernels.hpp"
#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

/// Identifies memory that a process lets others use (EngineExposures::expose): an index into the tables of
/// that process, and the generation of the entry. An id is never reused.
enum class ExposureId : std::uint64_t { none = 0 };

/// The exposures that contain the target memory and the counter of an operation. If one is given, the address
/// (RmaOp::target or RmaOp::notify) is an offset in that exposure; the process that executes the operation
/// checks the bounds and the access rights.
struct ExposedMemory {
  ExposureId target = ExposureId::none;
  ExposureId notify = ExposureId::none;

  constexpr bool is_named() const noexcept {
    return (static_cast<std::uint64_t>(target) | static_cast<std::uint64_t>(notify)) != 0;
  }
};

/// put and get move bytes; an update computes with elements.
enum class OpKind : std::uint8_t { put, get, update };

/// Requirements, promises and hints of the caller, beyond a plain transfer. A set of bits; none costs
/// anything unless set.
enum class OpFlags : std::uint32_t {
  none = 0,
  /// The whole operation, its origin and target memory, does not interleave with another such operation.
  /// It is complete when it is executed at the target.
  atomic = 1u << 0,
  ordered = 1u << 1,            ///< after every earlier ordered operation of this process to the target
  remote_completion = 1u << 2,  ///< `completion` waits for the target's memory, not only the origin buffer
  /// No element of the target is updated by two operations with this flag or `atomic` at once.
  element_atomic = 1u << 3,
  target_registered = 1u << 4,  ///< the caller vouches that the target memory lies in a segment
  /// Executed after every earlier operation of this thread with this flag on overlapping target memory,
  /// whatever protocols execute the two and however many messages they are. Costs a wait if an operation that
  /// does not travel as a message overlaps one that does, or if two UCX puts or gets overlap.
  overlap_ordered = 1u << 5,
  /// issue() fails with Status::busy, without effects, instead of waiting for a lock that the stream to the
  /// target waits for (EngineLocks::acquire_in_stream).
  no_lock_wait = 1u << 6,
  /// An update of a single element leaves its memory in mode `arrays` (engine/op/kernel/update_modes.hpp).
  keeps_arrays = 1u << 7,
  /// The caller will not wait for completion soon: a message is sent at once, but acknowledged together with
  /// later ones.
  delayed_ack = 1u << 8,
  /// Error texts call the update a read-modify-write even if it has no result.
  read_modify_write = 1u << 9
};

constexpr OpFlags operator|(OpFlags a, OpFlags b) noexcept {
  return static_cast<OpFlags>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr OpFlags operator&(OpFlags a, OpFlags b) noexcept {
  return static_cast<OpFlags>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}
constexpr OpFlags without(OpFlags set, OpFlags bits) noexcept {
  return static_cast<OpFlags>(static_cast<std::uint32_t>(set) & ~static_cast<std::uint32_t>(bits));
}
/// Whether `set` has at least one of the bits of `bit`.
constexpr bool has(OpFlags set, OpFlags bit) noexcept {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(bit)) != 0;
}

/// An object whose function is called once when an operation is complete. Embedded in a larger object of the
/// caller's.
struct Completion {
  /// Called from any thread, the agent's included, while the engine is locked: must be short, must not
  /// call the engine. After it returns the engine does not touch the object again.
  void (*done)(Completion& self, Status status, std::size_t bytes) noexcept = nullptr;
};

/// A one-sided operation: moves data between a buffer of the origin and memory of a target, or updates that
/// memory with the data. All layouts that are used have the same size().
///
/// put and get copy. An update is an accumulate, a fetching accumulate or a read-modify-write, element by
/// element: target[i] = f(target[i], origin[i], operand2[i]); result[i] = previous target[i]. Its layouts
/// consist of whole elements (has_whole_elements()), and its sides do not overlap in memory. Without
/// `atomic` or `element_atomic`, concurrent updates of an element can be lost.
struct RmaOp {
  OpKind kind = OpKind::put;
  ReduceOp reduce_op = ReduceOp::sum;     ///< of an update; is_defined(reduce_op, type)
  ElementType type = ElementType::int64;  ///< of an update
  bool is_internal = false;  ///< issued by the library itself, such as a notification: not counted
  OpFlags flags = OpFlags::none;
  /// Caller's context for operations without `completion`: a failure that arrives after issue() has returned
  /// is kept at the peer under this context until EngineFailures::take.
  std::uint32_t context = 0;
  std::byte* origin = nullptr;  ///< written by get, else read; not used by an update without an operand
  Layout origin_layout;
  RemoteAddress target = 0;
  Layout target_layout;
  /// Counter at the target that is incremented when the operation has finished with the target memory; 0:
  /// none. An aligned 64-bit word in memory that the target has allocated for communication or exposed.
  RemoteAddress notify = 0;
  ExposedMemory exposed;  ///< exposures in which `target` and `notify` are offsets
  Completion* completion = nullptr;
  std::byte const* operand2 = nullptr;  ///< of an update with two operands, laid out as `origin`
  std::byte* result = nullptr;          ///< of an update that fetches; else null
  Layout result_layout;
  /// Factor of the operand of an update by ReduceOp::sum, one element, or nullptr. Read during issue() only.
  void const* scale = nullptr;

  constexpr bool is_put() const noexcept { return kind == OpKind::put; }
  constexpr bool is_get() const noexcept { return kind == OpKind::get; }
  constexpr bool is_update() const noexcept { return kind == OpKind::update; }

  /// Number of origin buffers that the operation reads: 0 for a get, 2 for an update with two operands.
  constexpr unsigned operands() const noexcept {
    if (is_update()) return operand_count(reduce_op);
    return is_put() ? 1 : 0;
  }
  /// Whether the operation returns data of the target.
  constexpr bool fetches() const noexcept { return is_get() || result != nullptr; }
  /// Whether the target's memory changes.
  constexpr bool writes_target() const noexcept {
    return is_put() || (is_update() && reduce_op != ReduceOp::no_op);
  }
  /// The buffer that fetched data go to, and its layout.
  constexpr std::byte* sink() const noexcept { return is_get() ? origin : result; }
  constexpr Layout const& sink_layout() const noexcept { return is_get() ? origin_layout : result_layout; }
};

/// Returns an update of elements of `type` by `reduce_op`; the caller sets the other members.
constexpr RmaOp update_with(ReduceOp reduce_op, ElementType type) noexcept {
  RmaOp op;
  op.kind = OpKind::update;
  op.reduce_op = reduce_op;
  op.type = type;
  return op;
}

/// The origin buffer of an operation that only reads it.
inline std::byte* read_only(void const* buffer) noexcept {
  return static_cast<std::byte*>(const_cast<void*>(buffer));
}

/// Whether the operation increments a counter at the target.
constexpr bool notifies(RmaOp const& operation) noexcept {
  return operation.notify != 0 || operation.exposed.notify != ExposureId::none;
}

/// The state of an operation when issue() returned.
/// A call that returns this does not throw once it has issued the operation: the completion may be on the
/// stack of a caller that waits for it.
struct Issued {
  Status status = Status::ok;  ///< failed: nothing was issued, `completion` will not be called
  bool complete = true;        ///< complete at the level asked for; `completion` will not be called
  /// Position in the stream of messages to the peer, for EngineOrder::complete; for a UCX put or get, that of
  /// the newest message, or 1 if there is none. 0: already complete at the target, except for the full fence
  /// that EngineOrder::complete makes.
  std::uint64_t sequence = 0;

  /// The result for an operation that has failed or is complete: no message is outstanding.
  static constexpr Issued ended(Status status) noexcept { return {status, true, 0}; }
};

}  // namespace mpixrma::engine
