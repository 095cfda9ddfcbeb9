/// Selects the cores of the agent's thread.
///
/// A rank that is bound to a core computes there, and its agent must not take that core if the host has
/// others that no process is bound to.
#pragma once

#include <string_view>
#include <vector>

#include "engine/base/cores.hpp"
#include "engine/base/log.hpp"
#include "engine/memory/numa.hpp"

namespace mpixrma::engine {

/// Returns the cores for the agent of a process that is bound to `own`, where `permitted` are the host's
/// cores that the process may use, and `taken` those that others are bound to. Only cores of the process's
/// NUMA node, if there are any. None: the agent stays on its process's cores.
Cores cores_for_agent(Cores const& own, Cores const& permitted, Cores const& taken,
                      std::vector<NumaNode> const& nodes = {});

/// Binds the calling thread according to mpix_engine_config::agent_cores. Called when the job runs, because
/// other processes are bound by then.
void place_agent(std::string_view wish, Log const& log) noexcept;

}  // namespace mpixrma::engine
