/// The memory that an operation touches, and the stripes that its guarantees ask for on both sides.
#pragma once

#include <algorithm>

#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

/// What has to be held while an operation is carried out.
struct Footprint {
  StripeSets origin;
  StripeSets target;
};

/// What the operation asks for as a whole.
Footprint footprint_of(Transfer const& transfer) noexcept;
Footprint footprint_of(Update const& update) noexcept;

/// And what its elements need in memory of a process with these modes.
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

/// The elements of an update.
ElementUpdate elements_of(Update const& update) noexcept;

/// Whether an update with these guarantees, in this layout, has to hold the stripes of its target. elements()
/// is asked only where they decide.
template <typename Elements>
inline bool locks_target(Guarantee guarantees, Layout const& layout, Elements elements,
                         UpdateModes const& modes) noexcept {
  if (has(guarantees, Guarantee::atomic)) return true;
  return has(guarantees, Guarantee::element_atomic) &&
         (!layout.is_contiguous() || needs_stripes(modes, elements()));
}

/// What the update has to do to each element in memory of a process with these modes. The caller holds the
/// stripes that footprint_of() has asked for.
Reduction reduction_for(Update const& update, UpdateModes& modes) noexcept;
/// Where it does so: `mapped` is the local pointer to memory at `address` in the process with these modes.
AtomicPlaces places_for(Update const& update, Reduction const& reduction, UpdateModes const& modes,
                        std::byte const* mapped, RemoteAddress address) noexcept;

/// What an exposure that holds the target has to permit.
Rights rights_for(Transfer const& transfer) noexcept;
Rights rights_for(Update const& update) noexcept;

}  // namespace mpixrma::engine
