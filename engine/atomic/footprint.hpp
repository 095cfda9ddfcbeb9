/// The memory that an operation touches, and the stripes that its guarantees ask for on both sides.
#pragma once

#include "engine/atomic/stripes.hpp"
#include "engine/operation.hpp"

namespace mpix::engine {

/// What has to be held while an operation is carried out.
struct Footprint {
  StripeSets origin;
  StripeSets target;
};

/// What the guarantees ask for.
Footprint footprint_of(Transfer const& transfer) noexcept;
Footprint footprint_of(ReadModifyWrite const& operation) noexcept;
/// And what its elements need in memory of a process with these modes.
Footprint footprint_of(ReadModifyWrite const& operation, UpdateModes const& modes) noexcept;

/// The update of an accumulate, and of a read-modify-write.
ElementUpdate update_of(Transfer const& transfer) noexcept;
ElementUpdate update_of(ReadModifyWrite const& operation) noexcept;

/// Bytes of the target, and of the operand and result buffers, of a read-modify-write.
std::size_t size_of(ReadModifyWrite const& operation) noexcept;

}  // namespace mpix::engine
