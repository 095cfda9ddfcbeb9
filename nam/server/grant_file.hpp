/// The control process's side of a storage file: makes it with its grant, and checks whether the file in its
/// place is still the same. Only the control process opens storage files by name.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "engine/base/shared_memory.hpp"
#include "nam/data/storage_identity.hpp"

namespace mpixrma::nam {

class GrantFile {
 public:
  GrantFile(std::filesystem::path file, StorageIdentity identity)
      : file_(std::move(file)), identity_(std::move(identity)) {}

  /// Returns the name of the file of a new grant. Earlier servers named files GRANT.memory, and gave them no
  /// identity.
  static std::filesystem::path name_for(std::filesystem::path const& directory, std::string const& grant) {
    return directory / (grant + ".storage");
  }

  /// Makes the file, which the data process fills, under a temporary name until commit(). Throws
  /// Error(exists, no_space, internal).
  void create() const;

  struct Opened {
    engine::FileDescriptor descriptor;
    bool is_new = false;  ///< not committed: the data process is to fill it
  };
  /// Opens the file for a data process. Throws Error(unavailable), with the reason, if the file is missing,
  /// truncated, or belongs to another grant.
  Opened open() const;

  /// Called when the data process has filled the file: from here on a missing file is a loss.
  void commit() const;
  /// Puts a new file in place of one that is missing or does not belong to the grant. The old file, if any,
  /// is renamed with the ending ".damaged". Throws Error.
  void replace() const;
  /// Called before the grant is removed from the catalog: if the server ends before remove(), the next one
  /// removes the file. A full disk may prevent that.
  void mark_for_removal() const noexcept;
  void unmark() const noexcept;
  void remove() const noexcept;
  /// Returns the bytes that the file takes on the disk.
  std::uint64_t disk_bytes() const noexcept;

  /// Removes files of interrupted calls of create(), and those marked for removal, in `directory` for grants
  /// that are not `known`.
  static void sweep(std::filesystem::path const& directory,
                    std::function<bool(std::string const& grant)> const& known) noexcept;

 private:
  std::filesystem::path unfinished() const { return file_.string() + unfinished_suffix; }
  std::filesystem::path mark() const { return file_.string() + mark_suffix; }
  void check(engine::FileDescriptor const& file) const;
  void take_over(engine::FileDescriptor const& file) const;

  static constexpr char const* unfinished_suffix = ".new";
  static constexpr char const* mark_suffix = ".ended";

  std::filesystem::path file_;
  StorageIdentity identity_;
};

}  // namespace mpixrma::nam
