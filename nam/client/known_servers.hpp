/// The memory servers whose keys this user has pinned, in a file like SSH's known_hosts with one line
/// HOST:PORT KEY per server.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "nam/protocol/locator.hpp"
#include "nam/protocol/server_key.hpp"

namespace mpixrma::nam {

/// Returns MPIX_NAM_KNOWN_SERVERS, or known_servers beside the user's secret.
std::filesystem::path known_servers_file();

/// Returns the key that is pinned for HOST:PORT, if any. Throws Error(denied) if other users can write the
/// file.
std::optional<PublicKey> pinned_key(Address const& server);
/// Pins the key, replacing an earlier one. Any process of the user may call it at any time. Throws Error.
void pin_key(Address const& server, PublicKey const& key);

/// Asks whether the key of an unknown server is the right one. Called by the thread that connects.
using ConfirmKey = std::function<bool(Address const& server, PublicKey const& key)>;
/// Sets the callback, for programs with a terminal; call it before the first connection. A confirmed key is
/// pinned.
void set_key_confirmation(ConfirmKey confirm);

/// The keys by which this process verifies a server.
struct ServerTrust {
  std::optional<PublicKey> given;  ///< key in the address
  std::optional<PublicKey> pinned;

  /// Returns the key that the client asks for; check_key() accepts either.
  std::optional<PublicKey> const& expected() const noexcept { return given ? given : pinned; }
};

/// Throws as pinned_key().
ServerTrust trust_in(Address const& server);
/// Throws Error(denied) unless `key` is the given or the pinned key or, if neither exists, is confirmed
/// (set_key_confirmation); pins a confirmed key.
void check_key(Address const& server, ServerTrust const& trust, PublicKey const& key);
/// Updates the pin after a key rotation: the server, which the session has authenticated with the key `used`,
/// has reported its `current` key.
void follow_rotation(Address const& server, ServerTrust const& trust, std::string const& used,
                     std::string const& current);

}  // namespace mpixrma::nam
