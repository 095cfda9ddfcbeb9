/// The file that keeps measured methods of copies for all processes of a user on hosts of one kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/op/kernel/copy_methods.hpp"

namespace mpixrma::engine {

/// Returns the directory for the library's files in the user's cache: $XDG_CACHE_HOME/mpix-rma, or
/// ~/.cache/mpix-rma. Empty: neither variable has an absolute path, or the program runs with privileges that
/// its caller does not have.
std::string cache_directory();

class CopyCache {
 public:
  /// Permission to measure for the file's users: one process at a time has it.
  class Turn {
   public:
    explicit Turn(int file = -1) noexcept : file_(file) {}
    ~Turn();
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    explicit operator bool() const noexcept { return file_ >= 0; }

   private:
    int file_;
  };

  /// The file of this `key` (host_fingerprint()) in `directory`. An empty `directory`: there is no file.
  CopyCache(std::string directory, std::string key);

  /// The file's name; empty if there is no directory.
  std::string const& path() const noexcept { return path_; }

  /// Returns the table; none if there is no file, if another user owns it or may write it, or if its contents
  /// are not those that write() writes for this key.
  std::optional<CopyTable> read() const;

  /// Makes the directory if needed; returns false if that fails, or if others may write it.
  bool is_usable() const;

  /// Returns an empty Turn if the directory is not usable, or if another process has the turn.
  Turn take_turn() const;

  /// Replaces the file as a whole. Returns false if the directory is not usable, or writing fails.
  bool write(CopyTable const& table) const;

 private:
  std::string contents(CopyTable const& table) const;

  std::string directory_;
  std::string key_;
  std::string path_;
};

}  // namespace mpixrma::engine
