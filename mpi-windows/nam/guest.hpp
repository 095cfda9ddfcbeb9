/// Windows in other users' grants, to which the mode of the window permits access. The data process executes
/// each operation as a request of the session (nam/protocol/operation_request.hpp) after checking the mode: a
/// mapping, or an engine's session, would give access to all windows of the grant.
#pragma once

#include <memory>
#include <string>

#include "mpi-windows/nam/session.hpp"

namespace mpixrma::windows {

/// A session for one window.
class GuestSession : public NamSession {
 public:
  using NamSession::NamSession;
  /// Throws nam::Error. `window` is the locator of the window.
  explicit GuestSession(nam::Locator const& window);

  /// The key for GrantRegistry: each window has its own session.
  static std::string name_of(nam::Locator const& window) { return nam::format(window); }
  /// Returns the session of this window, cached or new. Throws nam::Error.
  static std::shared_ptr<GuestSession> of(nam::Locator const& window);
  /// Returns the cached session of this window, or a new one made of `found`.
  static std::shared_ptr<GuestSession> of(nam::Locator const& window, nam::Session found);
};

/// `window` is the description from the session. Throws NamError.
std::unique_ptr<ServedWindow> make_guest(std::shared_ptr<GuestSession> session, nam::WindowInfo window);

}  // namespace mpixrma::windows
