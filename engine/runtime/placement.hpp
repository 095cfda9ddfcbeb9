/// Selects the cores of the agent's thread.
///
/// A rank that is bound to a core computes there, and its agent must not take that core if the host has
/// others that no process is bound to.
#pragma once

#include <bitset>
#include <string_view>

#include "engine/base/log.hpp"

namespace mpixrma::engine {

using Cores = std::bitset<1024>;

/// Parses a list such as "0,2-3", in the format of /proc. Returns false if it is malformed.
bool parse_cores(std::string_view list, Cores* cores) noexcept;

/// Returns the cores for the agent of a process that is bound to `own`, where `permitted` are the host's
/// cores that the process may use, and `taken` those that others are bound to. None: the agent stays on its
/// process's cores.
Cores cores_for_agent(Cores const& own, Cores const& permitted, Cores const& taken) noexcept;

/// Binds the calling thread according to mpix_engine_config::agent_cores. Called when the job runs, because
/// other processes are bound by then.
void place_agent(std::string_view wish, Log const& log) noexcept;

}  // namespace mpixrma::engine
