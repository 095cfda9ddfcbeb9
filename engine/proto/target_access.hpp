/// The target memory that an operation touches, as it is compared with that of others.
#pragma once

#include "engine/op/operation.hpp"
#include "engine/origin/recent_accesses.hpp"

namespace mpixrma::engine {

inline bool writes_target(Transfer const& transfer) noexcept { return transfer.direction == Direction::put; }
inline bool writes_target(Update const& update) noexcept { return update.operation != Operation::no_op; }

/// In the terms in which the operation names it.
TargetAccess access_of(auto const& operation) noexcept {
  Extent const extent = operation.target_layout.extent();
  return {operation.exposed.target, operation.target + static_cast<std::uint64_t>(extent.begin),
          operation.target + static_cast<std::uint64_t>(extent.end), writes_target(operation)};
}

}  // namespace mpixrma::engine
