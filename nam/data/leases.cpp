/// DataProcess: clients that have ended, or that send nothing. A session over TCP has a lease, which each
/// message renews: a host that has died sends nothing. A session over a Unix socket has no lease, because its
/// client writes by stores that nothing can reject: the session ends with the client's process, even if a
/// child of that process keeps the connection open.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nam/data/data_process.hpp"
#include "nam/process/log.hpp"

namespace mpixrma::nam {

namespace {

/// Returns no descriptor if the system has no pidfds (Linux before 5.3), or the process is in another PID
/// namespace.
FileDescriptor open_process([[maybe_unused]] pid_t pid) {
#ifdef SYS_pidfd_open
  if (pid > 0) return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#endif
  return {};
}

}  // namespace

/// A session over TCP has no pid, nor has a client that this process cannot see.
void DataProcess::watch_client(SessionId id) {
  Session& session = sessions_.at(id);
  session.heard = std::chrono::steady_clock::now();
  session.process = open_process(session.pid);
  if (!session.process) return;
  loop_.watch(session.process.get(), EPOLLIN,
              [this, id](std::uint32_t) { loop_.later([this, id] { close_session(id); }); });
}

/// Called once a second. A data process that was stopped itself has received nothing meanwhile. Sessions end
/// in the turns of their users, because many may end at once, and the end of a session takes time for each
/// window.
void DataProcess::end_silent_sessions() {
  constexpr std::chrono::seconds longest_gap{3};
  auto const now = std::chrono::steady_clock::now();
  bool const was_stopped = now - leases_.checked > longest_gap;
  leases_.checked = now;
  for (auto& [id, session] : sessions_) {
    if (session.is_local || leases_.length.count() == 0) continue;
    // Messages that arrive while the session waits for the control process or the storage file are unread.
    if (was_stopped || session.connection->is_paused()) session.heard = now;
    if (now - session.heard <= leases_.length || session.may_end) continue;
    session.may_end = true;
    loop_.in_turn(std::to_string(session.account), [this, silent = id] { end_if_silent(silent); });
  }
}

/// Ends the session unless its client has sent something since.
void DataProcess::end_if_silent(SessionId id) {
  auto const found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.may_end = false;
  if (std::chrono::steady_clock::now() - session.heard <= leases_.length) return;
  std::string const span = std::to_string(leases_.length.count()) + " s";
  log(Severity::warning, "a session of user " + std::to_string(session.identity.uid) +
                             " ends: its client was silent for " + span);
  session.connection->post(
      to_answer(Error(ErrorCode::unavailable, "the session's lease of " + span + " is over")));
  session.connection->close();  // closes the session when the event loop goes on
}

/// Called once a second. Ends sessions that the engine has ended, so that their locks become free for others.
void DataProcess::end_lost_sessions() {
  if (!remote_.engine) return;
  for (auto& [id, session] : sessions_) {
    if (session.access.session == 0) continue;
    std::optional<Error> const why = remote_.engine->end_of(session.access.session);
    if (!why) continue;
    log(Severity::warning,
        "a session of user " + std::to_string(session.identity.uid) + " ends: " + why->what());
    session.connection->post(to_answer(*why));
    session.connection->close();  // closes the session when the event loop goes on
  }
}

/// The session does not use the window any more. The window may have been evicted.
void DataProcess::leave(SessionId id, std::string const& window) {
  Session const& session = sessions_.at(id);
  if (auto const found = windows_.find(window); found != windows_.end()) {
    found->second.used_by.erase(id);
    if (session.is_owner && session.is_local) found->second.released_by.insert(id);
  }
  for (RetiredSegment& piece : retired_) {
    if (piece.window == window) piece.used_by.erase(id);
  }
}

}  // namespace mpixrma::nam
