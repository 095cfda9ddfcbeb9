/// A file written under a temporary name and renamed when complete.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

class NewFile {
 public:
  /// Creates the file with mode 0600. Follows symbolic links to its directory only if root or the caller owns
  /// them. Throws Error(bad_request).
  explicit NewFile(std::filesystem::path const& path);
  /// Removes the unfinished file, unless finish() has succeeded.
  ~NewFile();
  NewFile(NewFile const&) = delete;
  NewFile& operator=(NewFile const&) = delete;

  /// Throws Error(no_space).
  void write(std::span<std::byte const> bytes);
  /// Renames the file to its final name, replacing an existing file. Throws Error(no_space).
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::string name_;
  std::string unfinished_;  ///< temporary name, until finish()
  engine::FileDescriptor directory_;
  engine::FileDescriptor file_;
};

}  // namespace mpixrma::nam
