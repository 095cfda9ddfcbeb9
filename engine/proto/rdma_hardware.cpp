/// Detects transports of UCX that access remote memory in hardware.
#include <algorithm>
#include <initializer_list>

#include "engine/net/network_devices.hpp"
#include "engine/proto/rdma.hpp"

namespace mpixrma::engine {

namespace {

/// Transports whose put and get bypass the target's processor. UCX itself does not distinguish them from
/// those, such as tcp, that emulate put.
bool bypasses_target(NetworkDevice const& device) noexcept {
  for (char const* const prefix : {"rc_", "dc_", "ugni_rdma", "gga_", "srd_"}) {
    if (device.transport.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

bool hardware_rdma_present() {
  std::vector<NetworkDevice> const devices = network_devices();
  return std::any_of(devices.begin(), devices.end(), bypasses_target);
}

}  // namespace mpixrma::engine
