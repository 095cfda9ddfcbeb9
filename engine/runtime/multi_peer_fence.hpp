/// A fence over several peers: later operations, to any peer, follow the earlier messages to all these peers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace mpixrma::engine {

class Peer;

/// Operations to a peer, up to a position of its stream.
struct PeerSequence {
  Peer* peer;
  std::uint64_t sequence;
  bool operator==(PeerSequence const&) const = default;
};

/// The messages that later operations to other peers wait for. Changed under the lock of the engine's peers.
class MultiPeerFence {
 public:
  /// Acquire: pairs with the release in remove().
  bool is_pending() const noexcept { return pending_.load(std::memory_order_acquire); }

  /// Adds an entry for the peer, or raises the position of its entry; returns false in the latter case.
  bool add(PeerSequence const& unfinished) {
    auto const known = std::ranges::find(unfinished_, unfinished.peer, &PeerSequence::peer);
    if (known != unfinished_.end()) {
      known->sequence = std::max(known->sequence, unfinished.sequence);
      return false;
    }
    unfinished_.push_back(unfinished);
    pending_.store(true, std::memory_order_relaxed);
    return true;
  }
  std::vector<PeerSequence> const& unfinished() const noexcept { return unfinished_; }

  /// Returns false if another thread has removed the entry, or a later fence has raised its position.
  bool remove(PeerSequence const& finished) noexcept {
    auto const found = std::ranges::find(unfinished_, finished);
    if (found == unfinished_.end()) return false;
    unfinished_.erase(found);
    // Release: a thread that finds nothing pending sees the effects of the messages.
    if (unfinished_.empty()) pending_.store(false, std::memory_order_release);
    return true;
  }

 private:
  std::atomic<bool> pending_{false};
  std::vector<PeerSequence> unfinished_;
};

}  // namespace mpixrma::engine
