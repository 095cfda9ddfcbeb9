/// Windows in the grants of other users, which the mode of the window admits. The data process executes each
/// operation as a request of the session (nam/protocol/operation_request.hpp), after a look at the mode:
/// memory that is mapped, and the session of an engine, would reach all windows of the grant.
#pragma once

#include <memory>
#include <string>

#include "mpi-windows/nam/session.hpp"

namespace mpixrma::windows {

/// A session for one window.
class GuestSession : public NamSession {
 public:
  using NamSession::NamSession;
  /// Throws nam::Error. `window`: locator of the window.
  explicit GuestSession(nam::Locator const& window);

  /// As GrantRegistry asks for it: each window has its own.
  static std::string name_of(nam::Locator const& window) { return nam::format(window); }
  /// The one of this window, or a new one. Throws nam::Error.
  static std::shared_ptr<GuestSession> of(nam::Locator const& window);
  /// The one of this window, or one of the session that has found it.
  static std::shared_ptr<GuestSession> of(nam::Locator const& window, nam::Session found);
};

/// `window` is what the session has told. Throws NamError.
std::unique_ptr<ServedWindow> make_guest(std::shared_ptr<GuestSession> session, nam::WindowInfo window);

}  // namespace mpixrma::windows
