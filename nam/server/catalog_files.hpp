/// The files of a catalog, for its repair: the database, its write-ahead log (-wal) and the log's index
/// (-shm).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// The lock of a server's directory, which a server holds as long as it runs. Error(exists): another process
/// holds it; Error(denied); Error(bad_request): it cannot be made.
engine::FileDescriptor lock_directory(std::filesystem::path const& directory);

/// Copies the three files, as far as they are there, with their owner and mode, and returns when the copies
/// are on storage. Throws Error.
void copy_catalog(std::filesystem::path const& from, std::filesystem::path const& to);
void remove_catalog(std::filesystem::path const& file);
/// Puts the closed catalog `from`, which has no log, into the place of `to`, with the owner and mode of `to`.
/// Throws Error.
void replace_catalog(std::filesystem::path const& from, std::filesystem::path const& to);
/// `file`.damaged, or the first of `file`.damaged.1, .2, ... that is free.
std::filesystem::path free_name_for_damaged(std::filesystem::path const& file);

}  // namespace mpixrma::nam
