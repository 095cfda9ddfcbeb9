/// The engine's adjustments of UCX's configuration, beyond the user's settings.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string>

namespace mpixrma::engine {

using UcpConfig = std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)>;

/// Whether other processes of the user may be unable to open /proc/PID/fd of this one: this process is not
/// dumpable, or is in a user namespace that the others may not share.
bool is_closed_to_others() noexcept;

/// Returns UCX's configuration: defaults, its files and the environment. Peers that may not access this
/// process's /proc/PID/fd find its shared memory by name instead. Empty if UCX cannot read the configuration.
UcpConfig read_ucp_config();

/// Restricts UCX's TCP to the interfaces of a rule (network_devices.hpp), unless the user has set
/// UCX_NET_DEVICES.
void restrict_to_interfaces(ucp_config_t* config, char const* rule);

/// Lets UCX's TCP receive a message of `bytes` bytes in one segment, unless the user has set
/// UCX_TCP_RX_SEG_SIZE: a message of several segments is copied once more at the receiver.
void enlarge_tcp_segments(ucp_config_t* config, std::size_t bytes);

/// Disables shared memory in UCX.
void disable_shared_memory(ucp_config_t* config);

/// Returns the value of UCX_TLS without shared memory, given the user's value (empty: not set).
std::string without_shared_memory(std::string const& transports);

/// Whether TCP is among the transports of a value of UCX_TLS (empty: not set).
bool uses_tcp(std::string const& transports);

/// Whether a network interface of this host, which TCP needs, is among the devices of a value of
/// UCX_NET_DEVICES (empty: not set).
bool uses_interfaces(std::string const& devices);

}  // namespace mpixrma::engine
