/// DataProcess: sessions, from the hand-over by the control process to their end.
#include <algorithm>

#include "nam/data/data_process.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::nam {

namespace {

/// Limits of sessions of the grant's owner, and of other users.
constexpr ChannelLimits owner_limits{.values = max_request_values};
constexpr ChannelLimits guest_limits{.head_bytes = 16384, .data_bytes = 1u << 20, .descriptors = 0};
constexpr std::uint64_t descriptors_of_session = 2;  ///< its connection, and its client's process

}  // namespace

/// Returns the session with its connection, which all others expect a session to have.
DataProcess::Session DataProcess::session_from(SessionId id, Message& message) {
  Json const& head = message.head;
  Session session;
  session.identity = {field<uid_t>(head, "uid"), field<std::vector<gid_t>>(head, "groups"),
                      field<bool>(head, "admin")};
  session.account = field_or(head, "account", session.identity.uid);
  session.is_owner = session.identity.uid == owner_ || session.identity.is_admin;
  session.is_local = !head.contains("stream");
  FileDescriptor& socket = message.descriptors.front();
  auto const client = credentials_of(socket);
  session.pid = client ? client->pid : 0;
  if (!session.is_local && leases_.length.count() != 0) bound_silence(socket, leases_.length);
  Channel channel(std::move(socket), session.is_owner ? owner_limits : guest_limits);
  // The shared account is needed because each session may keep a whole message: all of them together could
  // take the memory of the host.
  channel.set_account(account_in(shares_.messages, session.holder()));
  if (!session.is_local) channel.protect(SecureStream::from_state(field<std::string>(head, "stream")));
  session.connection = std::make_unique<Connection>(
      loop_, std::move(channel), [this, id](Message& request) { serve(id, request); },
      [this, id] { loop_.later([this, id] { close_session(id); }); });
  return session;
}

void DataProcess::open_session(Message& message) {
  if (message.descriptors.empty())
    throw Error(ErrorCode::quota,
                "a session came without its connection: this process has too many descriptors");
  SessionId const id = next_session_++;
  Session& session = sessions_.emplace(id, session_from(id, message)).first->second;
  try {
    Message first{message.head.at("request"), {}, {}};
    session.connection->serve_in_turn(std::to_string(session.account));
    watch_client(id);
    take_share(session);
    serve(id, first);
  } catch (Error const& error) {
    session.connection->post(to_answer(error));
    // Closes at once: a client that leaves no room for the answer would keep descriptors that no share
    // counts.
    session.connection->close();
  } catch (...) {
    session.connection->close();
    throw;
  }
  report_usage();
}

void DataProcess::take_share(Session& session) {
  shares_.sessions.take(session.holder());
  try {
    shares_.descriptors.take(session.holder(), descriptors_of_session);
  } catch (Error const&) {
    shares_.sessions.give_back(session.holder());
    throw;
  }
  session.has_share = true;
}

void DataProcess::close_session(SessionId id) {
  auto const found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session const& session = found->second;
  if (session.has_share) {
    shares_.sessions.give_back(session.holder());
    shares_.descriptors.give_back(session.holder(), descriptors_of_session + session.locks.size());
    shares_.locks.give_back(session.holder(), session.requested_locks.size());
  }
  if (session.process) loop_.forget(session.process.get());
  std::vector<std::string> ended;
  for (auto& [window, served] : windows_) {
    served.used_by.erase(id);
    served.released_by.erase(id);
    served.lockers.erase(id);
    if (served.session == id) ended.push_back(window);
  }
  for (RetiredSegment& piece : retired_) piece.used_by.erase(id);
  // Must precede drop(): afterwards the engine executes no operation of the session any more.
  close_access(session);
  sessions_.erase(found);
  for (std::string const& window : ended) drop(window);
  write_back_.rounds_due = 2;
  report_usage();
}

/// Memory that their processes have mapped remains mapped until the processes end.
void DataProcess::end_former_admins(std::vector<uid_t> const& admins) {
  for (auto& [id, session] : sessions_) {
    Identity& who = session.identity;
    if (!who.is_admin || std::find(admins.begin(), admins.end(), who.uid) != admins.end()) continue;
    who.is_admin = false;
    if (who.uid == owner_) continue;
    session.connection->post(
        to_answer(Error(ErrorCode::denied, "the session's user is not an administrator any more")));
    session.connection->close();  // closes the session when the event loop goes on
  }
}

}  // namespace mpixrma::nam
