/// Operations on memory that is mapped here: loads, stores and CPU atomics. Complete when they return,
/// at both sides, up to the store fence that Engine::complete makes.
#pragma once

#include "engine/atomic/update_modes.hpp"
#include "engine/operation.hpp"

namespace mpix::engine {

/// What an accumulate with these guarantees has to do to each element, in memory of a process with these
/// modes. The caller holds the stripes that the guarantees ask for.
Reduction reduction_for(Transfer const& transfer, UpdateModes& modes) noexcept;

/// `target` is the local address of the operation's target, in memory of a process with these modes. The
/// caller holds the stripes that the operation's guarantees ask for, and what needs_stripes() asks for.
void direct_transfer(Transfer const& transfer, std::byte* target, UpdateModes& modes) noexcept;
void direct_rmw(ReadModifyWrite const& operation, std::byte* target, UpdateModes& modes) noexcept;

}  // namespace mpix::engine
