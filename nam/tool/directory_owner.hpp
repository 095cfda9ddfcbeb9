/// Root uses a directory of another user with the rights of that user.
#pragma once

#include <filesystem>

namespace mpixrma::nam {

/// If this process is root's and another user can exchange what is in `directory`, or the directory itself,
/// becomes that user for good, who could put links to files of root there at any moment. Returns the path
/// without links. Throws Error: not_found; denied if several users can exchange something on the way.
std::filesystem::path act_as_owner_of(std::filesystem::path const& directory);

}  // namespace mpixrma::nam
