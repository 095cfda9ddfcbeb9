/// Detects transports of UCX that access remote memory in hardware.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "engine/net/network_devices.hpp"
#include "engine/net/ucx_context.hpp"
#include "engine/proto/network.hpp"

namespace mpixrma::engine {

namespace {

/// Transports whose put and get bypass the target's processor. UCX itself does not distinguish them from
/// those, such as tcp, that emulate put.
bool bypasses_target(std::string const& transport) noexcept {
  for (char const* const prefix : {"rc_", "dc_", "ugni_rdma", "gga_", "srd_"}) {
    if (transport.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

bool hardware_rdma_present(char const* interfaces, Log const& log) {
  std::vector<NetworkDevice> const devices = network_devices();
  bool const present = std::any_of(devices.begin(), devices.end(), [](NetworkDevice const& device) {
    return bypasses_target(device.transport);
  });
  if (!present) return false;
  // A setting such as UCX_TLS may exclude these transports; UCX then emulates put and get.
  UcxContext probe(log);
  if (failed(probe.open({.remote_memory = true, .interfaces = interfaces}))) return false;
  std::vector<std::string> const transports = probe.transports();
  return std::any_of(transports.begin(), transports.end(), bypasses_target);
}

}  // namespace mpixrma::engine
