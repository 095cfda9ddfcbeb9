/// The memory servers whose keys this user has pinned, in a file like SSH's known_hosts: a line HOST:PORT KEY
/// for each.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "nam/protocol/locator.hpp"
#include "nam/protocol/server_key.hpp"

namespace mpixrma::nam {

/// MPIX_NAM_KNOWN_SERVERS, or known_servers beside the user's secret.
std::filesystem::path known_servers_file();

/// The key that is pinned for HOST:PORT; nothing where none is. Throws Error(denied): others can write the
/// file.
std::optional<PublicKey> pinned_key(Address const& server);
/// Pins it, in the place of another one. Any process of the user at any time. Throws Error.
void pin_key(Address const& server, PublicKey const& key);

/// Asked for a server that is not known: whether its key is the right one. Called by the thread that
/// connects.
using ConfirmKey = std::function<bool(Address const& server, PublicKey const& key)>;
/// For programs that have a terminal; before they connect. A key that is confirmed is pinned.
void set_key_confirmation(ConfirmKey confirm);

/// By which a server is known to this process.
struct ServerTrust {
  std::optional<PublicKey> given;  ///< in the address
  std::optional<PublicKey> pinned;

  /// The key that the server is asked for.
  std::optional<PublicKey> const& expected() const noexcept { return given ? given : pinned; }
};

/// Throws as pinned_key().
ServerTrust trust_in(Address const& server);
/// Throws Error(denied) where the server with this key is not known, or has another key than it should have.
void check_key(Address const& server, ServerTrust const& trust, PublicKey const& key);
/// A server that the session has proven to be the right one says which key it has now: the pin follows it
/// from the key that was used.
void follow_rotation(Address const& server, ServerTrust const& trust, std::string const& used,
                     std::string const& current);

}  // namespace mpixrma::nam
