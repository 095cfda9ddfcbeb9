#include "engine/memory/numa.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace mpixrma::engine {

namespace {

/// Returns the number in a name such as "node3".
std::optional<unsigned> number_in(std::string_view name) {
  constexpr std::string_view prefix = "node";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  unsigned number = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

std::vector<NumaNode> read_numa_nodes(char const* directory) {
  std::vector<NumaNode> nodes;
  std::error_code unreadable;
  for (auto const& entry : std::filesystem::directory_iterator(directory, unreadable)) {
    std::optional<unsigned> const number = number_in(entry.path().filename().native());
    if (!number) continue;
    std::ifstream file(entry.path() / "cpulist");
    std::string list;
    NumaNode node{*number, {}};
    // The list of a node that has memory alone is empty.
    if (std::getline(file, list) && parse_cores(list, &node.cores) && node.cores.any()) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end(), [](auto const& a, auto const& b) { return a.number < b.number; });
  return nodes;
}

std::optional<NumaNode> node_of(std::vector<NumaNode> const& nodes, Cores const& bound) {
  if (nodes.size() < 2 || bound.none()) return std::nullopt;
  auto const found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](NumaNode const& node) { return (bound & ~node.cores).none(); });
  if (found == nodes.end()) return std::nullopt;
  return *found;
}

std::optional<NumaNode> node_of_thread(Log const& log) noexcept {
  try {
    std::optional<NumaNode> const node = node_of(read_numa_nodes(), cores_of_thread());
    if (node) log.write(LogLevel::life, "the process is bound to NUMA node %u", node->number);
    return node;
  } catch (std::exception const& error) {
    log.write(LogLevel::life, "the NUMA nodes are unknown: %s", error.what());
    return std::nullopt;
  }
}

}  // namespace mpixrma::engine
