/// The target memory of an operation, for comparison with other operations.
#pragma once

#include "engine/op/operation.hpp"
#include "engine/origin/recent_accesses.hpp"

namespace mpixrma::engine {

/// Returns the memory in the terms in which the operation names it: as addresses, or offsets in an exposure.
inline TargetAccess access_of(RmaOp const& operation) noexcept {
  Extent const extent = operation.target_layout.extent();
  return {operation.exposed.target, operation.target + static_cast<std::uint64_t>(extent.begin),
          operation.target + static_cast<std::uint64_t>(extent.end), operation.writes_target()};
}

}  // namespace mpixrma::engine
