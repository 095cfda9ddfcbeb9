/// The secrets by which a client shows servers who it is: told to this process, or in files.
#pragma once

#include <filesystem>
#include <optional>

#include "nam/protocol/locator.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

/// That of a server which was started for the job: from here on this process uses it. Any thread.
void tell_secret(Address const& server, UserSecret const& secret);
/// What tell_secret() was told of the server.
std::optional<UserSecret> told_secret(Address const& server);

/// Where the user's secret stands: MPIX_NAM_SECRET_FILE, or ~/.config/mpix-nam/secret.
std::filesystem::path secret_file();
/// The same of one server, which is looked at first: with ".HOST:PORT" behind its name.
std::filesystem::path secret_file(Address const& server);

/// What the process was told, or what stands in the server's file, or in that of all. Throws Error(denied).
UserSecret secret_for(Address const& server);

}  // namespace mpixrma::nam
