/// Notices of lost connections, between processes that have deferred UCX (docs/decisions/0029).
///
/// If a process cannot send messages to another one, for example because UCX does not start, the other
/// process may wait for its signals although nothing is outstanding between the two. The agent therefore
/// sends a datagram to the other process's address service. Its receiver treats the connection as lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/net/address_service.hpp"

namespace mpixrma::engine {

class Peer;
struct EngineState;

class LossNotices {
 public:
  explicit LossNotices(EngineState& state) noexcept : state_(state) {}

  /// Lets the agent notify the process. `peer`: null if it is no peer. With the lock of its channel held.
  void announce(std::uint64_t process, Peer* peer) noexcept;
  /// Sends the notices. Called by the agent, without locks.
  void send();
  /// `process` has lost the connection to this process. Called by the agent, without locks.
  void receive(std::uint64_t process, bool silent);

  /// Whether `process`, which is no peer, has announced that none of its signals arrives any more.
  bool is_silent(std::uint64_t process) const;
  /// Keeps the address of the new peer's service, and applies a notice that has arrived before the peer
  /// object existed. With the lock of its channel held.
  void add_peer(Peer& peer);
  void remove_peer(Peer const& peer) noexcept;

 private:
  struct Notice {
    std::uint64_t process = 0;
    ServiceAddress service;  ///< empty: not known yet
    Secret secret{};
    bool silent = false;
  };
  /// With the lock held.
  Notice notice_to(Peer& peer) const;
  Notice notice_to_origin(std::uint64_t process) const;
  void send(Notice const& notice) const;

  EngineState& state_;
  mutable std::mutex mutex_;
  std::vector<Notice> waiting_;
  std::map<std::uint64_t, ServiceAddress> services_;  ///< of peers that have deferred UCX
  std::map<std::uint64_t, bool> early_;  ///< `silent` of notices from processes that are no peers
  std::atomic<bool> has_news_{false};    ///< `waiting_` is not empty
};

}  // namespace mpixrma::engine
