/// Connections that UCX accepts in this process. UCX trusts every peer that connects: the peer can corrupt or
/// end this process. UCX also accepts every connection to its port, closes none that stays silent, and stops
/// listening for good when the process runs out of descriptors. This process therefore interposes accept()
/// for UCX's library: connections from hosts without a session, and those beyond a limit, are closed at once.
/// Connections that no session needs can be closed later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nam/protocol/host_address.hpp"

namespace mpixrma::nam {

/// From now on accepts connections of admitted hosts only: at most `limit`, and at most half as many from one
/// host. Without this call there is no limit.
void limit_accepted_connections(std::size_t limit) noexcept;

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

/// Maximum durations of connections that no session needs.
struct UnusedConnections {
  std::chrono::milliseconds silent;           ///< it has sent nothing since it was accepted
  std::chrono::milliseconds without_session;  ///< its host has had no session
};

/// Closes connections that exceed the durations. Called periodically.
void end_unused_connections(UnusedConnections const& longest) noexcept;

/// Numbers of connections that were closed when they were accepted.
struct RefusedConnections {
  std::uint64_t not_admitted = 0;  ///< from hosts that were not admitted
  std::uint64_t beyond_limit = 0;
};

/// Returns the numbers since the last call.
RefusedConnections take_refused_connections() noexcept;

}  // namespace mpixrma::nam
