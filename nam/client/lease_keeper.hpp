/// Keeps the leases of this process's sessions over TCP, as long as the process runs.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "nam/protocol/channel.hpp"

namespace mpixrma::nam {

/// The connection of a client, which the thread of the leases writes to as well.
struct GuardedChannel {
  GuardedChannel(FileDescriptor socket, ChannelLimits const& limits) : channel(std::move(socket), limits) {}

  std::mutex mutex;
  Channel channel;
};

/// From now on until the object is gone, a thread of this process renews the lease of the session on it,
/// several times in each `lease`. The thread starts with the first call. Thread-safe.
void keep_lease(std::shared_ptr<GuardedChannel> const& session, std::chrono::seconds lease);

}  // namespace mpixrma::nam
