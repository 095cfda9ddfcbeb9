/// The target memory of an operation, for comparison with other operations.
#pragma once

#include "engine/op/operation.hpp"
#include "engine/origin/recent_accesses.hpp"

namespace mpixrma::engine {

inline bool writes_target(Transfer const& transfer) noexcept { return transfer.direction == Direction::put; }
inline bool writes_target(Update const& update) noexcept { return update.operation != Operation::no_op; }

/// In the operation's own terms: address or exposure.
TargetAccess access_of(auto const& operation) noexcept {
  Extent const extent = operation.target_layout.extent();
  return {operation.exposed.target, operation.target + static_cast<std::uint64_t>(extent.begin),
          operation.target + static_cast<std::uint64_t>(extent.end), writes_target(operation)};
}

}  // namespace mpixrma::engine
