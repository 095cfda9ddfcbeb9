/// The sessions of origins, from their handshake to their end. Under the channel's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/drops.hpp"
#include "engine/base/take_each.hpp"
#include "engine/net/address.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/target/buffer_budget.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/origin_table.hpp"
#include "engine/target/replies.hpp"
#include "engine/target/unsent_replies.hpp"

namespace mpixrma::engine {

class Handshakes {
 public:
  /// The parts of the executor and of its channel that this class uses.
  struct Parts {
    Transport& transport;
    Connections& connections;
    Credentials const& credentials;
    Drops& drops;
    OriginTable& origins;
    BufferBudget const& buffers;
    Replies& replies;
    UnsentReplies const& unsent;
  };

  /// `session_processes`: maximum number of origins of a session; 0: no bound.
  Handshakes(Parts const& parts, std::size_t session_processes) noexcept
      : parts_(parts), session_processes_(session_processes) {}

  /// This is executor `place` of `executors`: processes that belong to another one are rejected.
  void set_place(std::size_t place, std::size_t executors) noexcept {
    place_ = place;
    executors_ = executors;
  }

  /// Handles a message whose session token belongs to no origin. An unauthenticated peer may send only a
  /// handshake.
  void handle(std::uint64_t token, std::span<std::byte const> header, std::span<std::byte const> payload);

  /// Whether there are origins whose connections must be opened.
  bool have_arrived() const noexcept { return !arrived_.empty(); }
  /// An origin whose connection for replies must be opened.
  struct Arrival {
    ProcessAddress address;
    std::uint64_t connection;  ///< number of the connection that the handshake belongs to
  };
  /// Whether a handshake of this connection with the process has arrived and the connection for replies is
  /// not open.
  bool has_arrived(std::uint64_t process, std::uint64_t connection) const noexcept {
    return std::ranges::any_of(arrived_, [&](Arrival const& arrival) {
      return arrival.address.process == process && arrival.connection == connection;
    });
  }
  /// Calls `connect` with the address and the number of the connection of each origin; see take_each().
  template <typename Connect>
  void take_arrived(Connect connect) {
    take_each(arrived_, [&](Arrival const& arrival) { connect(arrival.address, arrival.connection); });
  }
  /// Opens the connection to the origin. Returns false if it is unreachable.
  bool connect(Origin& origin, ProcessAddress const& address);

  /// Removes an origin that is gone.
  void remove(Origin& origin);

 private:
  char const* take_handshake(std::span<std::byte const> data);
  std::uint64_t identity_of(SessionOpening const& opening) const noexcept;
  bool is_session_full(std::uint64_t session) const noexcept;
  char const* admit(SessionOpening const& opening, Secret const& secret);
  char const* admit_new(SessionOpening const& opening, SessionTokens const& session);
  char const* admit_connection(std::uint64_t process, std::uint64_t number, Origin* origin);
  void expect_sealed(SessionOpening const& opening, Secret const& secret);
  void retire_session(std::uint64_t session);

  Parts parts_;
  std::size_t session_processes_;
  std::size_t place_ = 0;
  std::size_t executors_ = 1;
  std::vector<Arrival> arrived_;
};

}  // namespace mpixrma::engine
