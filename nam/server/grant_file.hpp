/// The control process's side of a storage file: makes it with its grant, and finds out whether the file at
/// its place is the one that was made then. Only the control process opens storage files by name.
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

  /// Name of the file of a new grant. Earlier servers named files GRANT.memory, and gave them no
  /// identity.
  static std::filesystem::path name_for(std::filesystem::path const& directory, std::string const& grant) {
    return directory / (grant + ".storage");
  }

  /// Makes the file, for the data process to fill, under a name of its own until commit(). Throws
  /// Error(exists, no_space, internal).
  void create() const;

  struct Opened {
    engine::FileDescriptor descriptor;
    bool is_new = false;  ///< not committed: the data process is to make it
  };
  /// For a data process. Throws Error(unavailable), with the reason, where the file is missing, cut, or
  /// another grant's.
  Opened open() const;

  /// The data process has made the file: from here on a missing file is a loss.
  void commit() const;
  /// Puts a new file in place of one that is not the grant's, which stays beside it with ".damaged" behind
  /// its name. Throws Error.
  void replace() const;
  void remove() const noexcept;
  /// Bytes that the file takes on the disk.
  std::uint64_t disk_bytes() const noexcept;

  /// Removes what an interrupted create() has left in `directory` for grants that are not `known`.
  static void sweep(std::filesystem::path const& directory,
                    std::function<bool(std::string const& grant)> const& known) noexcept;

 private:
  std::filesystem::path unfinished() const { return file_.string() + unfinished_suffix; }
  void check(engine::FileDescriptor const& file) const;
  void take_over(engine::FileDescriptor const& file) const;

  static constexpr char const* unfinished_suffix = ".new";

  std::filesystem::path file_;
  StorageIdentity identity_;
};

}  // namespace mpixrma::nam
