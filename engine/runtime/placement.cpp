#include "engine/runtime/placement.hpp"

#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "engine/base/liveness.hpp"

namespace mpixrma::engine {

namespace {

/// Returns the cores that the system grants when this thread requests all: cpusets still apply.
Cores cores_permitted() noexcept {
  Cores const own = cores_of_thread();
  Cores all;
  all.set();
  if (!set_thread_affinity(all)) return own;
  Cores const permitted = cores_of_thread();
  (void)set_thread_affinity(own);
  return permitted;
}

/// Returns the cores that a process is bound to; none if it may run anywhere, or if this is unknown.
Cores binding_of(pid_t process, Cores const& permitted) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  constexpr std::string_view key = "Cpus_allowed_list:\t";
  for (std::string line; std::getline(status, line);) {
    Cores cores;
    if (!line.starts_with(key) || !parse_cores(std::string_view(line).substr(key.size()), &cores)) continue;
    return (permitted & ~cores).none() ? Cores() : cores;
  }
  return {};
}

/// Determines the cores that the other processes of the job on this host are bound to; one daemon has started
/// all of them. Returns false if they cannot be determined.
bool cores_taken(Cores const& permitted, Cores* taken) {
  pid_t const parent = ::getppid();
  std::string const id = std::to_string(parent);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  bool found_own = false;
  for (pid_t child = 0; children >> child;) {
    if (child == own_process_id()) {
      found_own = true;
    } else {
      *taken |= binding_of(child, permitted);
    }
  }
  return found_own;
}

void place_automatically(Log const& log) {
  Cores const own = cores_of_thread();
  Cores const permitted = cores_permitted();
  if (own == permitted) return;  // not bound
  Cores taken;
  if (!cores_taken(permitted, &taken)) return;
  Cores const cores = cores_for_agent(own, permitted, taken, read_numa_nodes());
  if (cores.none() || !set_thread_affinity(cores)) return;
  log.write(LogLevel::life, "the agent has %zu cores that no process is bound to", cores.count());
}

}  // namespace

Cores cores_for_agent(Cores const& own, Cores const& permitted, Cores const& taken,
                      std::vector<NumaNode> const& nodes) {
  Cores const cores = permitted & ~own & ~taken;
  std::optional<NumaNode> const node = node_of(nodes, own);
  return node && (cores & node->cores).any() ? cores & node->cores : cores;
}

void place_agent(std::string_view wish, Log const& log) noexcept {
  try {
    Cores listed;
    if (wish == "bound") return;
    if (wish.empty() || wish == "auto") return place_automatically(log);
    if (!parse_cores(wish, &listed) || !set_thread_affinity(listed))
      log.write(LogLevel::error, "the agent cannot run on the cores \"%.*s\"", static_cast<int>(wish.size()),
                wish.data());
  } catch (std::exception const& error) {
    log.write(LogLevel::error, "the agent stays on the cores of its process: %s", error.what());
  }
}

}  // namespace mpixrma::engine
