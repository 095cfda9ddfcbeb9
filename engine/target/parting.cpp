#include "engine/target/parting.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace mpixrma::engine {

namespace {

// Number of progress turns between two searches for idle connections, whose cost grows with the connections.
constexpr unsigned shortest_pause = 16;
constexpr unsigned longest_pause = 16384;

}  // namespace

void Parting::on_disconnect(std::span<std::byte const> header) noexcept {
  wire::DisconnectHeader fields{};
  if (char const* const fault = wire::check(header, &fields)) return drops_.note(fault);
  std::optional<std::uint64_t> process = executor_.origins.process_of(fields.session);
  if (!process) process = message_protocol_.sessions.process_of(fields.session);
  if (!process) return drops_.note("it does not belong to a session");
  try {
    // An answer that precedes the disconnect request may grant a lock of which its sender was not aware.
    connections_.note_disconnect({*process, fields.kind, fields.token, message_protocol_.is_idle(*process)});
  } catch (std::bad_alloc const&) {
    connections_.lose(*process, "no memory for its disconnect");
  }
}

void Parting::hear() {
  for (Connections::NotedDisconnect const& disconnect : connections_.take_disconnects()) {
    if (Connections::Connection* const connection = connections_.find(disconnect.process))
      hear(disconnect, *connection);
  }
}

void Parting::hear(Connections::NotedDisconnect const& disconnect, Connections::Connection& connection) {
  bool const answered = connection.asked != 0 && connection.asked == disconnect.token;
  switch (disconnect.kind) {
    case wire::Disconnect::ask:
      // Both sides have sent a request: the one with the lower identity is answered.
      if (connection.asked != 0 && process_ < disconnect.process) break;
      connections_.note_asked(connection, 0);
      if (!disconnect.idle || !is_idle(disconnect.process, connection)) {
        (void)send(disconnect.process, connection, wire::Disconnect::stay, disconnect.token);
        message_protocol_.resume(disconnect.process);
      } else if (send(disconnect.process, connection, wire::Disconnect::agree, disconnect.token)) {
        part(disconnect.process);
      }
      break;
    case wire::Disconnect::agree:
      if (!answered) break;
      // It requested a lock before it received the disconnect request, and has ended since.
      if (executor_.locks.concern(disconnect.process))
        return connections_.lose(disconnect.process, "it ended with a lock");
      part(disconnect.process);
      break;
    case wire::Disconnect::stay:
      if (!answered) break;
      connections_.note_asked(connection, 0);
      message_protocol_.resume(disconnect.process);
      break;
    case wire::Disconnect::refused:
      // Unencrypted, a reader of the traffic could have sent it.
      if (transport_.is_sealed(connection.endpoint))
        connections_.lose(disconnect.process, "the other side has refused a message of the connection");
      break;
  }
}

void Parting::report_refused(std::uint64_t process) {
  Connections::Connection const* const connection = connections_.find_open(process);
  if (connection != nullptr && transport_.is_sealed(connection->endpoint))
    (void)send(process, *connection, wire::Disconnect::refused, 0);
}

void Parting::ask_now_and_then() {
  if (turns_ != 0 && --turns_ != 0) return;
  pause_ = ask_idle() != 0 ? shortest_pause : std::min(2 * pause_, longest_pause);
  turns_ = pause_;
}

std::size_t Parting::ask_idle() {
  if (!is_crowded()) return 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> idle;  // last use, process
  connections_.for_each([&](std::uint64_t process, Connections::Connection const& connection) {
    if (process == process_ || !is_idle(process, connection)) return;
    idle.emplace_back(std::max(message_protocol_.last_use(process), executor_.origins.last_use(process)),
                      process);
  });
  // Closes some more than necessary, because the search takes time.
  std::size_t const too_many = connections_.size() - limit_ + limit_ / 8;
  auto const oldest = idle.begin() + static_cast<std::ptrdiff_t>(std::min(too_many, idle.size()));
  std::partial_sort(idle.begin(), oldest, idle.end());
  idle.erase(oldest, idle.end());
  for (auto const& [last_use, process] : idle) ask(process);
  return idle.size();
}

void Parting::ask(std::uint64_t process) {
  Connections::Connection& connection = *connections_.find(process);
  std::uint64_t const token = ++newest_token_;
  // A failed send is handled as a lost connection.
  if (!send(process, connection, wire::Disconnect::ask, token)) return;
  connections_.note_asked(connection, token);
  message_protocol_.suspend(process);
}

bool Parting::is_idle(std::uint64_t process, Connections::Connection const& connection) const {
  return connection.asked == 0 && message_protocol_.is_idle(process) && executor_.is_idle(process) &&
         !transport_.has_unsent(connection.endpoint);
}

void Parting::part(std::uint64_t process) {
  message_protocol_.part(process);
  executor_.part(process);
  connections_.part(process);
  message_protocol_.resume(process);
}

bool Parting::send(std::uint64_t process, Connections::Connection const& connection, wire::Disconnect kind,
                   std::uint64_t token) {
  auto header = wire::begin_header<wire::DisconnectHeader>(kind);
  std::uint64_t const own = message_protocol_.sessions.session_with(process);
  header.session = own != 0 ? own : executor_.origins.session_with(process);
  header.token = token;
  Message& message = transport_.message();
  message.set_header(header);
  return !failed(transport_.send(connection.endpoint, wire::MessageClass::disconnect, message));
}

}  // namespace mpixrma::engine
