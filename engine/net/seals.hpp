/// The encrypted connections of a channel. Under the channel's lock.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "engine/net/seal.hpp"

namespace mpixrma::engine {

class Seals {
 public:
  struct Connection {
    Connection(std::uint64_t name, SealKey const& incoming, SealKey const& outgoing)
        : process(name), incoming_id(incoming.id), opener(incoming), sealer(outgoing) {}
    std::uint64_t process;
    std::uint64_t incoming_id;
    ucp_ep_h endpoint = nullptr;  ///< null until begin()
    bool refused = false;         ///< a message was rejected; no more are accepted
    Opener opener;
    Sealer sealer;
  };

  bool empty() const noexcept { return by_id_.empty(); }

  /// Expects a connection with `process`: messages with the key of `incoming` are decrypted. Replaces an
  /// expected connection that has not begun.
  void expect(std::uint64_t process, SealKey const& incoming, SealKey const& outgoing);
  /// Assigns the expected connection to this endpoint: messages sent there are encrypted from here on. Does
  /// nothing if none is expected.
  void begin(std::uint64_t process, ucp_ep_h endpoint);

  /// Returns nullptr if messages on the endpoint are not encrypted.
  Sealer* sealer_of(ucp_ep_h endpoint) noexcept;
  /// Returns the connection with this SealKey::id, or nullptr.
  Connection* find(std::uint64_t incoming) noexcept;

  /// Removes the connection of a closed endpoint.
  void forget(ucp_ep_h endpoint) noexcept;
  /// Removes an expected connection whose process is gone.
  void forget_expected(std::uint64_t process) noexcept;

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> by_id_;
  std::unordered_map<ucp_ep_h, Connection*> by_endpoint_;
  std::unordered_map<std::uint64_t, Connection*> expected_;  ///< by process
};

}  // namespace mpixrma::engine
