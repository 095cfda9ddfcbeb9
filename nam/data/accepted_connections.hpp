/// Connections that UCX accepts in this process. UCX trusts every peer that connects: it can write into this
/// process, or end it. UCX also takes every connection to its port and closes none that says nothing, and
/// where the process has no descriptor left it stops listening for good. So this process has an accept() of
/// its own, which UCX's library calls: it closes connections from hosts without a session at once, and those
/// beyond a bound. Connections that no session needs can be ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nam/protocol/host_address.hpp"

namespace mpixrma::nam {

/// UCX may have this many from here on, half of them from one host, and only from hosts that are admitted.
/// Without this call there is no bound.
void bound_accepted_connections(std::size_t most) noexcept;

/// Hosts from which UCX may accept connections as long as this object lives.
class AdmittedHosts {
 public:
  AdmittedHosts() = default;
  explicit AdmittedHosts(std::vector<HostAddress> hosts);
  ~AdmittedHosts();
  AdmittedHosts(AdmittedHosts&& other) noexcept;
  AdmittedHosts& operator=(AdmittedHosts&& other) noexcept;

 private:
  std::vector<HostAddress> hosts_;
};

/// How long a connection may exist that no session needs.
struct UnusedConnections {
  std::chrono::milliseconds silent;           ///< it has sent nothing since it was accepted
  std::chrono::milliseconds without_session;  ///< its host has had no session
};

/// Ends connections that have existed for longer. Called now and then.
void end_unused_connections(UnusedConnections const& longest) noexcept;

/// Numbers of connections that were closed at once.
struct RefusedConnections {
  std::uint64_t of_strangers = 0;  ///< from hosts that were not admitted
  std::uint64_t beyond_bound = 0;
};

/// Since the last call.
RefusedConnections take_refused_connections() noexcept;

}  // namespace mpixrma::nam
