/// A file that appears under its name when it is whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

class NewFile {
 public:
  /// Only its user reads it. Whoever sets a symbolic link on the way there does not choose where it is
  /// written, unless it is root or the caller. Throws Error(bad_request).
  explicit NewFile(std::filesystem::path const& path);
  /// Removes it, but after finish().
  ~NewFile();
  NewFile(NewFile const&) = delete;
  NewFile& operator=(NewFile const&) = delete;

  /// Throws Error(no_space).
  void write(std::span<std::byte const> bytes);
  /// In place of a file that has the name. Throws Error(no_space).
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::string name_;
  std::string unfinished_;  ///< its name until then
  engine::FileDescriptor directory_;
  engine::FileDescriptor file_;
};

}  // namespace mpixrma::nam
