/// Root uses a directory of another user with the rights of that user.
#pragma once

#include <filesystem>

namespace mpixrma::nam {

/// If this process runs as root and another user can exchange `directory` or what is in it, becomes that user
/// permanently: the user could otherwise put links to root's files there at any moment. Returns the path
/// without links. Throws Error: not_found; denied if several users can exchange something on the way.
std::filesystem::path act_as_owner_of(std::filesystem::path const& directory);

}  // namespace mpixrma::nam
