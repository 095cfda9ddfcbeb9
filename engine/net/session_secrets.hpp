/// The sessions of an engine that serves processes of several users: each session has its own secret and ends
/// independently.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "engine/net/address.hpp"

namespace mpixrma::engine {

/// The reason for which a session has ended without being removed.
enum class SessionEnd { connection_lost = 1, too_many_processes, replies_not_taken };

/// The secrets, by the identity under which a session knows the engine. Thread-safe by a lock, because
/// handshakes are rare.
class SessionSecrets {
 public:
  /// Creates the table of the engine with this identity, for the life of the engine.
  static std::shared_ptr<SessionSecrets> make(std::uint64_t process);
  /// Returns nullptr if the engine is not in this process or has no such sessions.
  static std::shared_ptr<SessionSecrets> of(std::uint64_t process);

  /// `end` makes the channels drop a session; it is empty while no channel executes messages.
  void set_end(std::function<void(std::uint64_t session)> end);

  /// Returns false if the session exists already.
  bool add(std::uint64_t session, Secret const& secret);
  /// Once remove() returns, no message of the session is executed any more. Returns false if the session does
  /// not exist.
  bool remove(std::uint64_t session);
  /// Makes the session admit no more processes. May be called with a channel locked.
  void retire(std::uint64_t session, SessionEnd why);
  /// Returns the reason for which the session was retired; nothing if it was not, or is removed.
  std::optional<SessionEnd> end_of(std::uint64_t session) const;
  std::optional<Secret> find(std::uint64_t session) const;

 private:
  mutable std::mutex lock_;
  std::unordered_map<std::uint64_t, Secret> secrets_;
  std::unordered_map<std::uint64_t, SessionEnd> retired_;  ///< until they are removed
  std::mutex end_lock_;                                    ///< not taken with a channel locked
  std::function<void(std::uint64_t)> end_;
};

}  // namespace mpixrma::engine
