/// Small private files that are replaced as a whole, or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace mpixrma::nam {

/// Writes `text` to a file that only its owner can read, on storage when the call returns. A full disk, or
/// the end of the process, leaves the previous file as it was. Throws Error.
void replace_file(std::filesystem::path const& file, std::string_view text);

}  // namespace mpixrma::nam
