/// A file written without a name, or under a temporary one, that gets its name when it is complete.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

class NewFile {
 public:
  /// Creates the file with mode 0600, beside `path`, which may name a regular file or none. Follows symbolic
  /// links to its directory only if root or the caller owns them. Throws Error(bad_request).
  explicit NewFile(std::filesystem::path const& path);
  /// Removes the unfinished file, unless finish() has succeeded.
  ~NewFile();
  NewFile(NewFile const&) = delete;
  NewFile& operator=(NewFile const&) = delete;

  /// Throws Error(no_space).
  void write(std::span<std::byte const> bytes);
  /// Renames the file to its final name, replacing a regular file, and syncs both. Throws Error(no_space), or
  /// Error(bad_request) if something else has taken the name.
  void finish();

 private:
  std::string path_of_open_file() const;
  void sync_directory() const;
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::string name_;
  std::string unfinished_;  ///< temporary name that nobody else has, until finish()
  bool is_named_ = false;   ///< the file has this name
  engine::FileDescriptor directory_;
  engine::FileDescriptor file_;
};

}  // namespace mpixrma::nam
