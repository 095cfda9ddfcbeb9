#include "engine/base/cores.hpp"

#include <sched.h>

#include <charconv>

namespace mpixrma::engine {

bool parse_cores(std::string_view list, Cores* cores) noexcept {
  char const* at = list.data();
  char const* const end = at + list.size();
  *cores = {};
  while (at != end) {
    std::size_t first = 0;
    auto parsed = std::from_chars(at, end, first);
    std::size_t last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-')
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || last < first || last >= cores->size()) return false;
    for (std::size_t core = first; core <= last; ++core) cores->set(core);
    at = parsed.ptr;
    if (at == end) return true;
    if (*at++ != ',') return false;
  }
  return false;
}

Cores cores_of_thread() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  Cores cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (std::size_t core = 0; core < cores.size() && core < CPU_SETSIZE; ++core)
    cores[core] = CPU_ISSET(core, &set);
  return cores;
}

bool set_thread_affinity(Cores const& cores) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t core = 0; core < cores.size() && core < CPU_SETSIZE; ++core) {
    if (cores[core]) CPU_SET(core, &set);
  }
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace mpixrma::engine
