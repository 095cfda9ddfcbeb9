/// The connections of a channel whose messages are sealed. Under the channel's lock.
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
    bool refused = false;         ///< a message was forged; nothing more is taken
    Opener opener;
    Sealer sealer;
  };

  bool empty() const noexcept { return by_id_.empty(); }

  /// A connection with `process` begins: messages that arrive with the key of `incoming` are opened. Takes
  /// the place of one that was expected and has not begun.
  void expect(std::uint64_t process, SealKey const& incoming, SealKey const& outgoing);
  /// The connection that is expected is the one of this endpoint: what is sent there is sealed from here on.
  /// Nothing where none is expected.
  void begin(std::uint64_t process, ucp_ep_h endpoint);

  /// nullptr: messages on the endpoint are not sealed.
  Sealer* sealer_of(ucp_ep_h endpoint) noexcept;
  /// By SealKey::id. nullptr: there is none.
  Connection* find(std::uint64_t incoming) noexcept;

  /// The endpoint is closed.
  void forget(ucp_ep_h endpoint) noexcept;
  /// The process has gone before its connection began.
  void forget_expected(std::uint64_t process) noexcept;

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> by_id_;
  std::unordered_map<ucp_ep_h, Connection*> by_endpoint_;
  std::unordered_map<std::uint64_t, Connection*> expected_;  ///< by process
};

}  // namespace mpixrma::engine
