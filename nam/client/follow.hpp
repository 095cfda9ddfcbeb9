/// Addresses of servers that another user or a server has written: a client goes to them only if it knows the
/// server, or with the user's consent.
#pragma once

#include "nam/client/client.hpp"
#include "nam/protocol/locator.hpp"

namespace mpixrma::nam {

/// The user has named this server to the process by other means than MPIX_NAM_SERVER and MPIX_NAM_ALLOCATION.
/// Any thread.
void note_known_server(Address const& server);
/// The user consents to follow every address; so does MPIX_NAM_FOLLOW=1. Any thread.
void consent_to_follow();

/// The same for this thread and a scope, where `given`.
class ConsentToFollow {
 public:
  explicit ConsentToFollow(bool given) noexcept;
  ~ConsentToFollow();
  ConsentToFollow(ConsentToFollow const&) = delete;
  ConsentToFollow& operator=(ConsentToFollow const&) = delete;

 private:
  bool before_;
};

/// The address to use for `written`, which came from the server at `teller`: that of the same server, of one
/// that the user has named, of one on this host that runs as root or as this user, or of one whose key is
/// pinned. Throws Error(denied) where it is none of these and the user has not consented.
Address followed(Address const& written, Address const& teller);

/// Throws Error(denied) unless `port`, which the server of `client` at `address` has told, names a window at
/// that server.
void check_own_port(Client const& client, Address const& address, std::string const& port);

}  // namespace mpixrma::nam
