/// Addresses of servers that another user or a server has written. A client connects to them only if it knows
/// the server, or with the user's consent.
#pragma once

#include "nam/client/client.hpp"
#include "nam/protocol/locator.hpp"

namespace mpixrma::nam {

/// Records a server that the user has named to the process by other means than MPIX_NAM_SERVER and
/// MPIX_NAM_ALLOCATION. Thread-safe.
void note_known_server(Address const& server);
/// Records the user's consent to follow every address, like MPIX_NAM_FOLLOW=1. Thread-safe.
void consent_to_follow();

/// Consents for this thread and scope if `given`.
class ScopedFollowConsent {
 public:
  explicit ScopedFollowConsent(bool given) noexcept;
  ~ScopedFollowConsent();
  ScopedFollowConsent(ScopedFollowConsent const&) = delete;
  ScopedFollowConsent& operator=(ScopedFollowConsent const&) = delete;

 private:
  bool before_;
};

/// Returns the address to use for `written`, which came from the server at `source`. Accepted are the address
/// of the same server, of a server that the user has named, of a server on this host that runs as root or as
/// this user, and of a server whose key is pinned. Otherwise throws Error(denied), or Error(unavailable) if
/// nobody listens at its Unix socket. If the user has consented, accepts every address.
Address followed(Address const& written, Address const& source);

/// Throws Error(denied) unless `port`, which the server of `client` at `address` has returned, names a window
/// at that server.
void check_own_port(Client const& client, Address const& address, std::string const& port);

}  // namespace mpixrma::nam
