#include "engine/net/transport_config.hpp"

#include <net/if.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "engine/net/network_devices.hpp"

namespace mpixrma::engine {

namespace {

// Transports that share memory between processes, and aliases of several of them.
constexpr std::array<std::string_view, 8> shared_memory_names = {"posix", "sysv", "cma", "knem",
                                                                 "xpmem", "mm",   "sm",  "shm"};

/// Returns the user's setting, or an empty string.
std::string given(char const* variable) {
  char const* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

/// UCX 1.13 expects the name without the transport's prefix, and warns about unknown names.
void modify(ucp_config_t* config, std::string const& transport, std::string const& name,
            std::string const& value) {
  std::string const known = MPIX_UCX_PREFIXED_NAMES ? transport + "_" + name : name;
  (void)ucp_config_modify(config, known.c_str(), value.c_str());
}

bool shares_memory(std::string_view name) noexcept {
  return name == "all" ||
         std::find(shared_memory_names.begin(), shared_memory_names.end(), name) != shared_memory_names.end();
}

}  // namespace

bool is_closed_to_others() noexcept {
  constexpr ino_t initial_namespace = 0xEFFFFFFD;  // PROC_USER_INIT_INO, part of the kernel's interface
  struct stat user {};
  bool const own_users = ::stat("/proc/self/ns/user", &user) == 0 && user.st_ino != initial_namespace;
  return own_users || ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1;
}

UcpConfig read_ucp_config() {
  ucp_config_t* config = nullptr;
  if (ucp_config_read(nullptr, nullptr, &config) != UCS_OK) config = nullptr;
  bool const by_name = is_closed_to_others() && std::getenv("UCX_POSIX_USE_PROC_LINK") == nullptr;
  if (config != nullptr && by_name) modify(config, "POSIX", "USE_PROC_LINK", "n");
  return {config, &ucp_config_release};
}

void restrict_to_interfaces(ucp_config_t* config, char const* rule) {
  if (std::getenv("UCX_NET_DEVICES") != nullptr) return;
  std::string const devices = permitted_devices(rule, network_devices(), interface_addresses());
  (void)ucp_config_modify(config, "NET_DEVICES", devices.c_str());
}

void enlarge_tcp_segments(ucp_config_t* config, std::size_t bytes) {
  constexpr std::size_t usual = 64 * 1024;
  // UCX warns about settings that it does not use.
  bool const possible = uses_tcp(given("UCX_TLS")) && uses_interfaces(given("UCX_NET_DEVICES"));
  if (!possible || std::getenv("UCX_TCP_RX_SEG_SIZE") != nullptr || bytes <= usual) return;
  modify(config, "TCP", "RX_SEG_SIZE", std::to_string(bytes));
}

bool uses_tcp(std::string const& transports) {
  bool const excludes = transports.starts_with('^');
  std::istringstream names(excludes ? transports.substr(1) : transports);
  bool tcp = false;
  bool all = transports.empty();
  for (std::string name; std::getline(names, name, ',');) {
    tcp = tcp || name == "tcp";
    all = all || (name == "all" && !excludes);
  }
  return all || tcp != excludes;
}

bool uses_interfaces(std::string const& devices) {
  if (devices.empty() || devices.front() == '^') return true;
  std::istringstream names(devices);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "all" || ::if_nametoindex(name.c_str()) != 0) return true;
  }
  return false;
}

std::string without_shared_memory(std::string const& transports) {
  std::string const excluded = "sm";
  if (transports.empty() || transports == "all") return "^" + excluded;
  if (transports.front() == '^') return transports + "," + excluded;
  std::string left;
  std::istringstream names(transports);
  for (std::string name; std::getline(names, name, ',');) {
    if (!shares_memory(name)) left += name + ",";
  }
  return left + "tcp,self";
}

void disable_shared_memory(ucp_config_t* config) {
  (void)ucp_config_modify(config, "TLS", without_shared_memory(given("UCX_TLS")).c_str());
}

}  // namespace mpixrma::engine
