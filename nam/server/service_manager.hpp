/// The interface to systemd and similar service managers.
#pragma once

#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Returns the sockets at which the server listens already (LISTEN_FDS).
std::vector<engine::FileDescriptor> inherited_listeners();
/// Sends "READY=1" and the like; does nothing without a service manager (NOTIFY_SOCKET).
void notify_manager(std::string const& state);

}  // namespace mpixrma::nam
