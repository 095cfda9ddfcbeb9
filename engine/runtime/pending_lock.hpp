/// The lock that a stream of this process waits for.
#pragma once

#include <atomic>
#include <cstdint>

namespace mpixrma::engine {

class Peer;

/// Used by the thread that has requested the lock, and cleared by PeerTable::release() with the peer's last
/// user. The lock may already have been granted.
struct PendingLock {
  std::atomic<Peer*> peer{nullptr};
  std::uint64_t sequence = 0;  ///< position in the stream
};

}  // namespace mpixrma::engine
