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

/// Secrets by the identity under which a session knows the engine. Thread-safe, because handshakes are rare.
class SessionSecrets {
 public:
  /// Creates the table of the engine with this identity, for the life of the engine.
  static std::shared_ptr<SessionSecrets> make(std::uint64_t process);
  /// Returns nullptr if the engine is not in this process or has no such sessions.
  static std::shared_ptr<SessionSecrets> of(std::uint64_t process);

  /// `end` makes the channels drop a session. Without it no message is executed.
  void set_end(std::function<void(std::uint64_t session)> end);

  /// Returns false if the session exists already.
  bool add(std::uint64_t session, Secret const& secret);
  /// When it returns, no message of the session is executed any more. Returns false if the session does not
  /// exist.
  bool remove(std::uint64_t session);
  /// Rejects further handshakes of the session. May be called with a channel locked.
  void retire(std::uint64_t session);
  std::optional<Secret> find(std::uint64_t session) const;

 private:
  mutable std::mutex lock_;
  std::unordered_map<std::uint64_t, Secret> secrets_;
  std::mutex end_lock_;  ///< must not be acquired with a channel locked
  std::function<void(std::uint64_t)> end_;
};

}  // namespace mpixrma::engine
