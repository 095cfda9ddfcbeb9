#include "mpi-windows/nam/session.hpp"

#include <mpi.h>

#include "mpi-windows/nam/error.hpp"

namespace mpixrma::windows {

namespace {

/// Delay between two attempts to acquire a lock.
constexpr std::chrono::microseconds lock_retry_delay{100};

}  // namespace

/// Adds the server's key to the locator: the other processes of the job authenticate the server by this key.
NamSession::NamSession(nam::Locator locator, nam::Session session)
    : locator_{locator.grant, "", std::move(locator.address)}, session_(std::move(session)) {
  if (!session_.server_key().empty()) locator_.address.key = session_.server_key();
}

SessionNamWindow::~SessionNamWindow() {
  ignoring_errors([this](nam::Session& session) { session.end_locks(holder_); });
}

/// `control` is 0, because this process does not map the grant. A process that maps the grant identifies
/// the control memory itself.
void SessionNamWindow::describe(NamDescription* description) const {
  add_part(description, session_->locator(), 0);
}

void SessionNamWindow::persist() {
  convert_server_errors(
      [this] { session_->with_session([this](nam::Session& session) { session.persist(info_); }); });
}

bool SessionNamWindow::try_lock(int rank, engine::LockMode mode, bool* has_turn) const {
  auto const place = static_cast<std::uint32_t>(rank);
  try {
    return session_->with_session([&](nam::Session& session) {
      auto const now = std::chrono::steady_clock::now();
      // Each rank has a pause of its own: a lock that is taken must not keep others from being requested.
      auto const next = next_attempts_.find(rank);
      if (next != next_attempts_.end() && now < next->second) return false;
      bool const taken = session.try_lock(info_, holder_, place, mode, has_turn);
      if (taken)
        next_attempts_.erase(rank);
      else
        next_attempts_[rank] = std::chrono::steady_clock::now() + lock_retry_delay;
      return taken;
    });
  } catch (nam::Error const& error) {
    // The window has ended, or the session has reached its limit of locks: the text says which.
    throw NamError(error.code() == nam::ErrorCode::denied ? MPI_ERR_ACCESS : MPI_ERR_WIN, error.what());
  }
}

void SessionNamWindow::unlock(int rank) const noexcept {
  ignoring_errors(
      [&](nam::Session& session) { session.unlock_soon(info_, holder_, static_cast<std::uint32_t>(rank)); });
}

/// Ignores errors, because a session that has ended holds no locks.
template <typename Call>
void SessionNamWindow::ignoring_errors(Call call) const noexcept {
  try {
    session_->with_session(call);
  } catch (std::exception const&) {
  }
}

}  // namespace mpixrma::windows
