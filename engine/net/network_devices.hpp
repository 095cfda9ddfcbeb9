/// The network devices that UCX finds, and the selection of those that the engine's messages may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpixrma::engine {

/// A device with one of UCX's transports for it.
struct NetworkDevice {
  std::string name;
  std::string transport;
};

std::vector<NetworkDevice> network_devices();

/// An IPv4 address of an active network interface of this host.
struct InterfaceAddress {
  std::string interface;
  std::uint32_t address;  ///< in host byte order
};

std::vector<InterfaceAddress> interface_addresses();
/// Returns a text such as 10.1.0.5.
std::string text_of(InterfaceAddress const& address);

/// Returns the value of UCX_NET_DEVICES that restricts UCX's TCP to the interfaces of `rule`, in Open MPI's
/// format: names and IPv4 subnets (10.1.0.0/16) separated by commas; after a '^' those that are excluded;
/// after a '+' the rule for all but the loopback interface, which is permitted. Other devices are not
/// affected. If the rule permits no interface, the loopback interface remains.
std::string permitted_devices(std::string_view rule, std::vector<NetworkDevice> const& devices,
                              std::vector<InterfaceAddress> const& addresses);

/// Returns the first address that the rule permits and that other hosts can reach.
std::optional<InterfaceAddress> permitted_address(std::string_view rule,
                                                  std::vector<InterfaceAddress> const& addresses);

}  // namespace mpixrma::engine
