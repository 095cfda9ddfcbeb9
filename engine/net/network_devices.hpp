/// The network devices that UCX finds, and which of them the engine's messages may take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpixrma::engine {

/// A device with one of the transports that UCX has for it.
struct NetworkDevice {
  std::string name;
  std::string transport;
};

std::vector<NetworkDevice> network_devices();

/// An IPv4 address of a network interface of this host that is up.
struct InterfaceAddress {
  std::string interface;
  std::uint32_t address;  ///< in the byte order of the host
};

std::vector<InterfaceAddress> interface_addresses();
/// As in 10.1.0.5.
std::string text_of(InterfaceAddress const& address);

/// The value of UCX_NET_DEVICES that keeps UCX's TCP to the interfaces of `rule`, as Open MPI writes it:
/// names and IPv4 subnets (10.1.0.0/16) separated by commas, behind a '^' those that are left out; behind a
/// '+' the rule for all but the interface to the host itself, which is permitted. Other devices are not
/// touched. Where the rule leaves no interface, it is that one.
std::string permitted_devices(std::string_view rule, std::vector<NetworkDevice> const& devices,
                              std::vector<InterfaceAddress> const& addresses);

/// The first of the addresses that the rule permits and that other hosts can reach.
std::optional<InterfaceAddress> permitted_address(std::string_view rule,
                                                  std::vector<InterfaceAddress> const& addresses);

}  // namespace mpixrma::engine
