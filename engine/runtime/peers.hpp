/// The processes that this one communicates with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/visibility.h"
#include "engine/origin/peer.hpp"

namespace mpixrma::engine {

struct EngineState;

class MPIX_ENGINE_API EnginePeers {
 public:
  explicit EnginePeers(EngineState& state) noexcept : state_(state) {}

  /// Returns the peer with identity `process`, created at its first use and valid until release(). Local.
  /// nullptr if the bootstrap does not know its address.
  Peer* find(std::uint64_t process);
  /// As find(), for a process that the bootstrap does not know, with an address (Engine::address) obtained
  /// otherwise. nullptr if the address is invalid.
  Peer* at(std::span<std::byte const> address);
  /// Ends the use of a peer returned by these functions. The engine removes an unused peer once its process
  /// has ended, or the connection to the process is lost.
  void release(Peer& peer);
  /// Ends the connection to a process that the caller considers dead: operations on its memory fail from here
  /// on. Does nothing if the process is neither a peer nor connected. Any thread.
  void fail_connections(std::uint64_t process) noexcept;
  /// Ends the exchange of messages with a peer that lacks a signal of this process, so that the peer does not
  /// wait for the signal.
  void mark_unreachable_by_messages(Peer& peer) noexcept;
  /// Records that this process signals to the peer by messages only.
  void require_messages(Peer& peer) noexcept;
  /// Whether no signal of the process arrives any more, because the process has ended, or cannot send
  /// messages to this one.
  bool is_silent(std::uint64_t process) const;

 private:
  EngineState& state_;
};

}  // namespace mpixrma::engine
