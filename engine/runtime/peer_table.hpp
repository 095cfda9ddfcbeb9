/// The peers of an engine, from their first use to the end of their processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/net/address.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/statistics.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/runtime/pending_lock.hpp"

namespace mpixrma::engine {

struct EngineState;

class PeerTable {
 public:
  explicit PeerTable(EngineState& state) noexcept : state_(state) {}

  /// Returns the peer with one more user. `published`: its address; if empty, the bootstrap is queried.
  /// nullptr: there is no usable address.
  Peer* find(std::uint64_t process, std::span<std::byte const> published);
  void release(Peer& peer);

  /// Calls `visit(peer)` for each. With the lock held.
  template <typename Function>
  void for_each(Function visit) const {
    for (auto const& [process, peer] : peers_) visit(*peer);
  }
  std::size_t size() const noexcept { return peers_.size(); }
  /// nullptr: the process is no peer. With the lock held.
  Peer* known(std::uint64_t process) const noexcept;
  /// The traffic with removed peers. With the lock held.
  Traffic const& traffic_of_removed() const noexcept { return traffic_of_removed_; }
  /// The failures of operations to removed peers that no call has reported. With the lock held.
  UnreportedFailures take_failures_of_removed() noexcept { return std::exchange(failures_of_removed_, {}); }
  /// The process itself as a peer; nullptr if it is none. Any thread.
  Peer* self() const noexcept { return self_.load(std::memory_order_acquire); }

  std::mutex lock;
  PendingLock* pending_lock = nullptr;  ///< cleared when its peer loses its last user

 private:
  using LostPeers = std::vector<std::unique_ptr<Peer>>;
  bool await_address(std::uint64_t process, std::unique_lock<std::mutex>& held, LostPeers& lost);
  Peer* make(std::uint64_t process, std::span<std::byte const> published);
  void add_to_channel(Peer& peer);
  std::unique_ptr<PeerState> state_of(ProcessAddress address);
  LostPeers take_lost();
  bool forget(Peer& peer, LostPeers* taken) noexcept;

  EngineState& state_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Peer>> peers_;
  /// A peer whose connection was lost and that was removed.
  struct LostProcess {
    Secret secret;        ///< identifies the incarnation of the process
    bool is_unreachable;  ///< as Peer::is_lost(); else only messages do not reach it
  };

  /// With lost processes no connection is made again: they drop its messages.
  std::unordered_map<std::uint64_t, LostProcess> lost_;
  std::vector<Peer*> unused_;   ///< peers without users
  std::uint64_t losses_ = 0;    ///< number of lost connections at the last check of unused peers
  Traffic traffic_of_removed_;  ///< traffic with removed peers
  UnreportedFailures failures_of_removed_;
  std::atomic<Peer*> self_{nullptr};  ///< the process itself as a peer, if it is one
};

}  // namespace mpixrma::engine
