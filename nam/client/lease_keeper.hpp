/// Renews the leases of this process's sessions over TCP while the process runs.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "nam/protocol/channel.hpp"

namespace mpixrma::nam {

/// The connection of a client, to which the lease thread writes too.
struct GuardedChannel {
  GuardedChannel(FileDescriptor socket, ChannelLimits const& limits) : channel(std::move(socket), limits) {}

  std::mutex mutex;
  Channel channel;
};

/// Makes a thread of this process renew the lease of the session several times per `lease`, until `session`
/// is destroyed. The first call starts the thread. Thread-safe.
void keep_lease(std::shared_ptr<GuardedChannel> const& session, std::chrono::seconds lease);

}  // namespace mpixrma::nam
