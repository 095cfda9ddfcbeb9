/// Operations on memory that is mapped here: loads, stores and CPU atomics. Complete when they return,
/// at both sides, up to the store fence that Engine::complete makes.
#pragma once

#include "engine/operation.hpp"

namespace mpix::engine {

/// What an accumulate with these guarantees has to do to each element.
Reduction reduction_for(Transfer const& transfer) noexcept;

/// `target` is the local address of the operation's target. The caller holds the stripes that the
/// operation's guarantees ask for.
void direct_transfer(Transfer const& transfer, std::byte* target) noexcept;
void direct_rmw(ReadModifyWrite const& operation, std::byte* target) noexcept;

}  // namespace mpix::engine
