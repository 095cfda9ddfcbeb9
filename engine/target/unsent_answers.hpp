/// The answers that an origin may leave with the transport. An origin that sends requests and takes no
/// answers would make this process keep all of them. Beyond its share its requests are kept, and executed
/// when answers have left; an origin whose requests find no room either has not kept to its credit, and is
/// lost. Under the channel's lock.
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

class UnsentAnswers {
 public:
  struct Settings {
    std::size_t fragment_bytes = 0;
    std::size_t answers_bytes = 0;  ///< maximum of all that are not sent; 0: no bound
  };

  UnsentAnswers(Connections& connections, Credentials const& credentials, OriginTable const& origins,
                BufferBudget const& buffers, Settings const& settings)
      : connections_(connections),
        credentials_(credentials),
        origins_(origins),
        buffers_(buffers),
        settings_(settings) {}

  /// Begins to count the answers to a new origin.
  void bound(Origin& origin) const;
  /// Whether the request may be answered now.
  bool may_answer(Origin const& origin, wire::RequestHeader const& request) const noexcept {
    if (settings_.answers_bytes == 0) return true;
    return !origin.waits_for_answers && has_room(origin, request);
  }
  /// Requests of the origin are tried again when answers have left.
  void wait(Origin& origin);
  /// Whether requests wait for answers to leave. The transport may have sent all of them by now, so that
  /// nothing is unsent whose end an event announces.
  bool has_waiting() const noexcept { return !waiting_.empty(); }
  /// Takes out the origins whose requests wait.
  std::vector<Origin*> take_waiting() noexcept { return std::exchange(waiting_, {}); }
  void forget(Origin* origin) noexcept { std::erase(waiting_, origin); }

  /// After an answer, which may be to no request: of a lock that was waited for, or that memory has gone.
  void check(Origin const& origin);
  /// The connection is lost, and the origin's session admits nobody any more.
  void end(Origin const& origin);

 private:
  std::size_t share() const noexcept;
  bool has_room(Origin const& origin, wire::RequestHeader const& request) const noexcept;

  Connections& connections_;
  Credentials const& credentials_;
  OriginTable const& origins_;
  BufferBudget const& buffers_;
  Settings settings_;
  std::shared_ptr<MessageAccount> all_ = std::make_shared<MessageAccount>();  ///< to all origins
  std::vector<Origin*> waiting_;
};

}  // namespace mpixrma::engine
