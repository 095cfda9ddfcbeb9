#include "engine/target/connection_eviction.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace mpixrma::engine {

namespace {

// Number of progress passes between two searches for idle connections. The cost of a search grows with the
// number of connections.
constexpr unsigned shortest_pause = 16;
constexpr unsigned longest_pause = 16384;

}  // namespace

void ConnectionEviction::on_disconnect(std::span<std::byte const> header) noexcept {
  wire::DisconnectHeader fields{};
  if (char const* const fault = wire::check(header, &fields)) return drops_.record_drop(fault);
  std::optional<std::uint64_t> process = executor_.origins.process_of(fields.session);
  if (!process) process = message_protocol_.sessions.process_of(fields.session);
  if (!process) return drops_.record_drop("it does not belong to a session");
  try {
    // is_idle() now, not when the request is handled: a lock that is granted in between would make this
    // process look idle although it holds the lock.
    connections_.queue_disconnect(
        {*process, fields.kind, fields.connection, message_protocol_.is_idle(*process)});
  } catch (std::bad_alloc const&) {
    connections_.fail(*process, "no memory for its disconnect");
  }
}

void ConnectionEviction::handle_disconnects() {
  connections_.take_disconnects([this](Connections::DisconnectNotice const& disconnect) {
    if (disconnect.connection != connections_.number_of(disconnect.process)) return;
    if (executor_.handshakes.has_arrived(disconnect.process, disconnect.connection)) {
      // Requests that have arrived with the handshake are executed first. Their origin may count as idle
      // before that, because it does not wait for delayed acknowledgements.
      connections_.queue_disconnect(disconnect);
    } else if (Connections::Connection* const connection = connections_.find(disconnect.process)) {
      handle_disconnect(disconnect, *connection);
    }
  });
}

void ConnectionEviction::handle_disconnect(Connections::DisconnectNotice const& disconnect,
                                           Connections::Connection& connection) {
  switch (disconnect.kind) {
    case wire::Disconnect::request:
      // Both sides have sent a request: the one of the process with the lower number gets a reply.
      if (connection.disconnecting && process_ < disconnect.process) break;
      connections_.note_disconnect_ended(connection);
      if (!disconnect.idle || !is_idle(disconnect.process, connection)) {
        (void)send(disconnect.process, connection, wire::Disconnect::reject);
        message_protocol_.resume(disconnect.process);
        // The other side asks again.
        message_protocol_.flush_ended_puts(disconnect.process);
      } else if (send(disconnect.process, connection, wire::Disconnect::accept)) {
        close_connection(disconnect.process);
      }
      break;
    case wire::Disconnect::accept:
      if (!connection.disconnecting) break;
      // The end of a peer counts as an acceptance, too, even if the peer had requested a lock before it
      // received the disconnect request, and has not released the lock.
      if (executor_.locks.concern(disconnect.process))
        return connections_.fail(disconnect.process, "the process ended while it held or awaited a lock");
      close_connection(disconnect.process);
      break;
    case wire::Disconnect::reject:
      if (!connection.disconnecting) break;
      connections_.note_disconnect_ended(connection);
      message_protocol_.resume(disconnect.process);
      break;
    case wire::Disconnect::message_rejected:
      // On an unencrypted connection, a process that can read the traffic could forge this message.
      if (transport_.is_sealed(connection.endpoint))
        connections_.fail(disconnect.process, "the other side has refused a message of the connection");
      break;
  }
}

void ConnectionEviction::report_rejected_message(std::uint64_t process) {
  Connections::Connection const* const connection = connections_.find_open(process);
  if (connection != nullptr && transport_.is_sealed(connection->endpoint))
    (void)send(process, *connection, wire::Disconnect::message_rejected);
}

void ConnectionEviction::evict_periodically() {
  if (turns_ != 0 && --turns_ != 0) return;
  pause_ = request_idle_disconnects() != 0 ? shortest_pause : std::min(2 * pause_, longest_pause);
  turns_ = pause_;
}

std::size_t ConnectionEviction::request_idle_disconnects() {
  if (!is_over_limit()) return 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> idle;  // last use, process
  connections_.for_each([&](std::uint64_t process, Connections::Connection const& connection) {
    if (process == process_) return;
    if (!is_idle(process, connection)) return message_protocol_.flush_ended_puts(process);
    idle.emplace_back(std::max(message_protocol_.last_use(process), executor_.origins.last_use(process)),
                      process);
  });
  // Closes more connections than necessary, to amortise the cost of the search.
  std::size_t const too_many = connections_.size() - limit_ + limit_ / 8;
  auto const oldest = idle.begin() + static_cast<std::ptrdiff_t>(std::min(too_many, idle.size()));
  std::partial_sort(idle.begin(), oldest, idle.end());
  idle.erase(oldest, idle.end());
  for (auto const& [last_use, process] : idle) request_disconnect(process);
  return idle.size();
}

void ConnectionEviction::request_disconnect(std::uint64_t process) {
  Connections::Connection& connection = *connections_.find(process);
  // A failed send is handled as a lost connection.
  if (!send(process, connection, wire::Disconnect::request)) return;
  connections_.note_disconnect_requested(connection);
  message_protocol_.suspend(process);
}

bool ConnectionEviction::is_idle(std::uint64_t process, Connections::Connection const& connection) const {
  return !connection.disconnecting && message_protocol_.is_idle(process) && executor_.is_idle(process) &&
         !transport_.has_unsent(connection.endpoint);
}

void ConnectionEviction::close_connection(std::uint64_t process) {
  message_protocol_.forget_connection(process);
  executor_.forget_connection(process);
  connections_.flush_and_close(process);
  message_protocol_.resume(process);
}

bool ConnectionEviction::send(std::uint64_t process, Connections::Connection const& connection,
                              wire::Disconnect kind) {
  auto header = wire::begin_header<wire::DisconnectHeader>(kind);
  std::uint64_t const own = message_protocol_.sessions.session_with(process);
  header.session = own != 0 ? own : executor_.origins.session_with(process);
  header.connection = connections_.number_of(process);
  Message& message = transport_.message();
  message.set_header(header);
  return !failed(transport_.send(connection.endpoint, wire::MessageClass::disconnect, message));
}

}  // namespace mpixrma::engine
