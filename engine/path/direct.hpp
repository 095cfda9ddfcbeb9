/// Operations on memory that is mapped here: loads, stores and CPU atomics. Complete when they return,
/// at both sides, up to the store fence that Engine::complete makes.
#pragma once

#include "engine/atomic/update_modes.hpp"
#include "engine/operation.hpp"

namespace mpix::engine {

/// `target` is the local address of the operation's target, in memory of a process with these modes. The
/// caller holds the stripes that footprint_of() has asked for.
void execute_directly(Transfer const& transfer, std::byte* target, UpdateModes& modes) noexcept;
void execute_directly(Update const& update, std::byte* target, UpdateModes& modes) noexcept;

}  // namespace mpix::engine
