#include "engine/memory/numa.hpp"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/small_file.hpp"

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

/// A short check, because most hosts have one node: reads a single file.
bool has_one_node() {
  std::string const online = read_small_file("/sys/devices/system/node/online", 64);
  return !online.empty() && online.find_first_of(",-") == online.npos;
}

}  // namespace

std::vector<NumaNode> read_numa_nodes(char const* directory) {
  std::vector<NumaNode> nodes;
  std::unique_ptr<DIR, int (*)(DIR*)> const entries(::opendir(directory), &::closedir);
  while (dirent const* const entry = entries != nullptr ? ::readdir(entries.get()) : nullptr) {
    std::optional<unsigned> const number = number_in(entry->d_name);
    if (!number) continue;
    std::string list =
        read_small_file(std::string(directory).append("/").append(entry->d_name).append("/cpulist").c_str());
    list.resize(std::min(list.find('\n'), list.size()));
    NumaNode node{*number, {}};
    // The list of a node that has memory only is empty.
    if (parse_cores(list, &node.cores) && node.cores.any()) nodes.push_back(node);
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
    if (has_one_node()) return std::nullopt;
    std::optional<NumaNode> const node = node_of(read_numa_nodes(), cores_of_thread());
    if (node) log.write(LogLevel::life, "the process is bound to NUMA node %u", node->number);
    return node;
  } catch (std::exception const& error) {
    log.write(LogLevel::life, "the NUMA nodes are unknown: %s", error.what());
    return std::nullopt;
  }
}

}  // namespace mpixrma::engine
