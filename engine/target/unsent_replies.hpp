/// Bounds the unsent replies to each origin: those to an origin that receives nothing would fill the memory
/// of this process. Requests of an origin above its share are buffered until replies have been sent. An
/// origin whose requests cannot be buffered either is disconnected. Under the channel's lock.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/net/connections.hpp"
#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/buffer_budget.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/origin_table.hpp"

namespace mpixrma::engine {

class UnsentReplies {
 public:
  struct Settings {
    std::size_t fragment_bytes = 0;
    std::size_t replies_bytes = 0;  ///< for all origins, beyond a minimum for each; 0: no bound
  };

  UnsentReplies(Connections& connections, Credentials const& credentials, OriginTable const& origins,
                BufferBudget const& buffers, Settings const& settings)
      : connections_(connections),
        credentials_(credentials),
        origins_(origins),
        buffers_(buffers),
        settings_(settings) {}

  /// Begins to count the replies to a new origin.
  void start_account(Origin& origin) const;
  /// Whether the request may be executed now, and its reply sent.
  bool permits(Origin const& origin, wire::RequestHeader const& request) const noexcept {
    if (origin.follows_borrowing(request)) [[unlikely]]
      return false;
    if (settings_.replies_bytes == 0) return true;
    return !origin.waits_until_sent && has_room(origin, request);
  }
  /// Retries the requests of the origin when replies have been sent.
  void add_waiting(Origin& origin);
  /// Whether requests wait until replies are sent. The transport may have sent all replies already; then no
  /// event follows.
  bool has_waiting() const noexcept { return !waiting_.empty(); }
  /// Takes out the origins whose requests wait.
  std::vector<Origin*> take_waiting() noexcept { return std::exchange(waiting_, {}); }
  void forget(Origin* origin) noexcept { std::erase(waiting_, origin); }

  /// Disconnects an origin above its limit. Called after each reply: not every reply belongs to a request
  /// that permits() has permitted (grants of locks, revocations of keys).
  void check(Origin const& origin);
  /// Marks the connection as lost, and retires the origin's session.
  void disconnect(Origin const& origin);

 private:
  std::size_t share() const noexcept;
  bool has_room(Origin const& origin, wire::RequestHeader const& request) const noexcept;

  Connections& connections_;
  Credentials const& credentials_;
  OriginTable const& origins_;
  BufferBudget const& buffers_;
  Settings settings_;
  std::shared_ptr<MessageAccount> all_ = std::make_shared<MessageAccount>();  ///< of all origins
  std::vector<Origin*> waiting_;
};

}  // namespace mpixrma::engine
