/// The NUMA nodes of this host, and the one to which a process belongs.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/cores.hpp"
#include "engine/base/log.hpp"

namespace mpixrma::engine {

/// A node that has cores.
struct NumaNode {
  unsigned number = 0;
  Cores cores;
};

/// Reads the nodes from the directory in which the kernel describes them. Empty if they are unknown.
std::vector<NumaNode> read_numa_nodes(char const* directory = "/sys/devices/system/node");

/// Returns the node of a process that is bound to these cores: the one that has all of them. None if the
/// process may run on several nodes, or if the host has only one.
std::optional<NumaNode> node_of(std::vector<NumaNode> const& nodes, Cores const& bound);

/// Returns the node of the calling thread, as node_of().
std::optional<NumaNode> node_of_thread(Log const& log) noexcept;

}  // namespace mpixrma::engine
