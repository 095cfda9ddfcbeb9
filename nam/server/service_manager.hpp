/// What systemd and its like hand to a service, and are told by it.
#pragma once

#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// The sockets that it listens at already (LISTEN_FDS).
std::vector<engine::FileDescriptor> inherited_listeners();
/// "READY=1" and the like; nothing where nobody listens (NOTIFY_SOCKET).
void notify_manager(std::string const& state);

}  // namespace mpixrma::nam
