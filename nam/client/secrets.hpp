/// The secrets that authenticate the user to servers: set in this process, or stored in files.
#pragma once

#include <filesystem>
#include <optional>

#include "nam/protocol/locator.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

/// Sets the secret of a server that was started for the job, for use by this process. Thread-safe.
void set_secret(Address const& server, UserSecret const& secret);
/// Returns the secret that set_secret() has set for the server, if any.
std::optional<UserSecret> given_secret(Address const& server);

/// Returns the file of the user's secret: MPIX_NAM_SECRET_FILE, or ~/.config/mpix-nam/secret.
std::filesystem::path secret_file();
/// Returns the file for one server, which takes precedence: secret_file() with ".HOST:PORT" appended.
std::filesystem::path secret_file(Address const& server);

/// Throws Error(denied) if the file is in $HOME and $HOME belongs to another user. Called before the file is
/// written: after a change of user (sudo), $HOME may be that of the former user, who could redirect the file
/// by a link.
void check_home(std::filesystem::path const& file);

/// Returns the secret set in this process, or else from the server's file, or from the common file. Throws
/// Error(denied).
UserSecret secret_for(Address const& server);

}  // namespace mpixrma::nam
