/// The memory that an operation accesses, and the stripes that its guarantees require on both sides.
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
Footprint footprint_of(Transfer const& transfer) noexcept;
Footprint footprint_of(Update const& update) noexcept;

/// Returns also the stripes that its elements require in memory of a process with these modes.
inline Footprint footprint_of(Transfer const& transfer, UpdateModes const&) noexcept {
  return footprint_of(transfer);
}
Footprint footprint_of(Update const& update, UpdateModes const& modes) noexcept;

/// Whether an update of `bytes` bytes switches its memory to updates of single elements.
inline bool is_single(Guarantee guarantees, Operation operation, ElementType type,
                      std::size_t bytes) noexcept {
  return bytes == std::max<std::size_t>(element_size(type), 1) && operation != Operation::no_op &&
         !has(guarantees, Guarantee::atomic);
}

/// Returns the elements of an update.
ElementUpdate elements_of(Update const& update) noexcept;

/// Whether an update with these guarantees and this layout must hold the stripes of its target. elements() is
/// called only if the elements decide.
template <typename Elements>
inline bool locks_target(Guarantee guarantees, Layout const& layout, Elements elements,
                         UpdateModes const& modes) noexcept {
  if (has(guarantees, Guarantee::atomic)) return true;
  return has(guarantees, Guarantee::element_atomic) &&
         (!layout.is_contiguous() || needs_stripes(modes, elements()));
}

/// Returns the effect of the update on each element in memory of a process with these modes. The caller holds
/// the stripes that footprint_of() requires.
Reduction reduction_for(Update const& update, UpdateModes& modes) noexcept;
/// Returns the places of that effect: `mapped` is the local pointer to memory at `address` in the process
/// with these modes.
AtomicPlaces places_for(Update const& update, Reduction const& reduction, UpdateModes const& modes,
                        std::byte const* mapped, RemoteAddress address) noexcept;

/// Returns the rights that an exposure of the target must grant.
Rights rights_for(Transfer const& transfer) noexcept;
Rights rights_for(Update const& update) noexcept;

}  // namespace mpixrma::engine
