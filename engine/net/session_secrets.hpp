/// The sessions of an engine that serves processes of several users: each has a secret of its own, and ends
/// on its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "engine/net/address.hpp"

namespace mpixrma::engine {

/// By the identity under which a session knows the engine. Any thread: handshakes are rare.
class SessionSecrets {
 public:
  /// Those of the engine with this identity, for as long as the engine lives.
  static std::shared_ptr<SessionSecrets> make(std::uint64_t process);
  /// nullptr: the engine is not in this process, or has no such sessions.
  static std::shared_ptr<SessionSecrets> of(std::uint64_t process);

  /// `end` makes the channels forget a session. Without it nothing is executed yet, or any more.
  void set_end(std::function<void(std::uint64_t session)> end);

  /// False: there is such a session already.
  bool add(std::uint64_t session, Secret const& secret);
  /// When it returns, no message of the session is executed any more. False: there is none.
  bool remove(std::uint64_t session);
  /// The session admits nobody any more. Also where a channel is locked.
  void retire(std::uint64_t session);
  std::optional<Secret> find(std::uint64_t session) const;

 private:
  mutable std::mutex lock_;
  std::unordered_map<std::uint64_t, Secret> secrets_;
  std::mutex end_lock_;  ///< not held where a channel is locked
  std::function<void(std::uint64_t)> end_;
};

}  // namespace mpixrma::engine
