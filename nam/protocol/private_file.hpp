/// Small files that only their owner can read. The content is on storage when the call returns.
#pragma once

#include <filesystem>
#include <string_view>

namespace mpixrma::nam {

/// Creates a file; leaves none after a failure. The name is on storage after sync_parent_of(). Throws Error,
/// also if the file exists.
void create_file(std::filesystem::path const& file, std::string_view text);
/// Replaces or creates the file. A full disk, or the end of the process, leaves the former file as it was.
/// Throws Error.
void replace_file(std::filesystem::path const& file, std::string_view text);
/// Puts the new name of a file on storage, after the file was created, linked or renamed.
void sync_parent_of(std::filesystem::path const& file) noexcept;

}  // namespace mpixrma::nam
