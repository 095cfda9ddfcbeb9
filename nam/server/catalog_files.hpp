/// The files of a catalog, for its repair: the database, its write-ahead log (-wal) and the log's index
/// (-shm).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Takes the lock of a server's directory, which a server holds as long as it runs. Throws Error(exists) if
/// another process holds it; Error(denied, no_space, not_found, internal) if its file cannot be opened.
engine::FileDescriptor lock_directory(std::filesystem::path const& directory);

/// Copies those of the three files that exist, with their mode and, as root, their owner, and returns when
/// the copies are on storage. Throws Error.
void copy_catalog(std::filesystem::path const& from, std::filesystem::path const& to);
void remove_catalog(std::filesystem::path const& file);
/// Replaces `to` by the closed catalog `from`, which has no log, and keeps the owner and mode of `to`. Throws
/// Error.
void replace_catalog(std::filesystem::path const& from, std::filesystem::path const& to);
/// Returns the first unused name of `file`.damaged, `file`.damaged.1, .2, ...
std::filesystem::path free_name_for_damaged(std::filesystem::path const& file);

}  // namespace mpixrma::nam
