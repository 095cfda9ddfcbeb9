#include "windows/rank_table.hpp"

#include "engine/peer/address.hpp"

namespace mpix::windows {

std::uint64_t own_host() {
  static std::uint64_t const host = [] {
    auto const identity = engine::HostIdentity::of_this_process();
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    auto const add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
    for (char const c : identity.boot_id) add(static_cast<unsigned char>(c));
    add(identity.ipc_namespace);
    add(identity.pid_namespace);
    return hash;
  }();
  return host;
}

}  // namespace mpix::windows
