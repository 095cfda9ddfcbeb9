/// The memory that an operation accesses, and the stripes that its flags require on both sides.
#pragma once

#include <algorithm>

#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

/// The stripes that must be held while an operation is executed.
struct Footprint {
  StripeSets origin;
  StripeSets target;
};

/// Returns the stripes that the operation requires as a whole.
Footprint footprint_of(RmaOp const& operation) noexcept;

/// Includes the stripes that the elements of an update require in memory of a process with these modes.
Footprint footprint_of(RmaOp const& operation, UpdateModes const& modes) noexcept;

/// Whether an update of `bytes` bytes switches its memory to updates of single elements.
inline bool is_single(OpFlags flags, ReduceOp operation, ElementType type, std::size_t bytes) noexcept {
  return bytes == std::max<std::size_t>(element_size(type), 1) && operation != ReduceOp::no_op &&
         !has(flags, OpFlags::atomic | OpFlags::keeps_arrays);
}

/// Returns the elements of an update.
ElementUpdate elements_of(RmaOp const& update) noexcept;

/// Whether an update with these flags and this layout must hold the stripes of its target. elements() is
/// called only if the elements decide.
template <typename Elements>
inline bool locks_target(OpFlags flags, Layout const& layout, Elements elements,
                         UpdateModes const& modes) noexcept {
  if (has(flags, OpFlags::atomic)) return true;
  return has(flags, OpFlags::element_atomic) && (!layout.is_contiguous() || needs_stripes(modes, elements()));
}

/// Whether the target has to be locked for the operation, which does not have OpFlags::atomic.
inline bool locks_target(RmaOp const& operation, UpdateModes const& modes) noexcept {
  if (!operation.is_update()) return has(operation.flags, OpFlags::element_atomic);
  return locks_target(
      operation.flags, operation.target_layout, [&] { return elements_of(operation); }, modes);
}

/// Whether the CPU's atomics will update elements in memory of a process with these modes. The caller need
/// not hold stripes.
bool has_atomic_elements(RmaOp const& update, UpdateModes const& modes) noexcept;

/// Returns how the update must change each element in memory of a process with these modes. The caller holds
/// the stripes that footprint_of() has asked for.
Reduction reduction_for(RmaOp const& update, UpdateModes& modes) noexcept;
/// Returns the places in which the element_atomic of `reduction` applies: `mapped` is the local pointer to
/// memory at `address` in the process with these modes.
AtomicRegions atomic_regions_for(RmaOp const& update, Reduction const& reduction, UpdateModes const& modes,
                                 std::byte const* mapped, RemoteAddress address) noexcept;

/// Returns the rights that an exposure of the target must grant.
Rights rights_for(RmaOp const& operation) noexcept;

}  // namespace mpixrma::engine
