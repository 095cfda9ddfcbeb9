/// On which cores the agent's thread runs.
///
/// A rank that is bound to a core computes there; its agent must not take that core from it where the host
/// has others that nobody is bound to.
#pragma once

#include <bitset>
#include <string_view>

#include "engine/base/log.hpp"

namespace mpixrma::engine {

using Cores = std::bitset<1024>;

/// The cores of a list as in "0,2-3", as /proc writes them. False when it is none.
bool parse_cores(std::string_view list, Cores* cores) noexcept;

/// The cores for the agent of a process that is bound to `own`, where `permitted` are those of the host that
/// the process may use at all, and `taken` those that others are bound to. None: the agent stays where its
/// process is.
Cores cores_for_agent(Cores const& own, Cores const& permitted, Cores const& taken) noexcept;

/// Moves the calling thread as mpix_engine_config::agent_cores asks for. Once the job runs: other processes
/// are bound by then.
void place_agent(std::string_view wish, Log const& log) noexcept;

}  // namespace mpixrma::engine
