#include "nam/tool/directory_owner.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <system_error>

#include "nam/process/sandbox.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_directory(fs::path const& directory, std::string const& reason) {
  throw Error(ErrorCode::denied, "root does not use " + directory.string() + ": " + reason);
}

/// Whether users other than root can exchange entries of a directory that root owns. In a directory above the
/// last one that has the sticky bit, they exchange only what belongs to them.
bool is_open_to_others(struct stat const& status, bool is_last) noexcept {
  bool const others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return status.st_uid == 0 && others_write && (is_last || (status.st_mode & S_ISVTX) == 0);
}

/// Returns the user to whom a directory on the way belongs, if it is not root. `directory` has no links.
std::optional<ProcessUser> other_owner(fs::path const& directory) {
  std::optional<ProcessUser> other;
  for (fs::path each = directory;; each = each.parent_path()) {
    struct stat status {};
    if (::lstat(each.c_str(), &status) != 0) refuse_directory(directory, each.string() + " was exchanged");
    if (is_open_to_others(status, each == directory))
      refuse_directory(directory, "several users can change " + each.string());
    if (other && status.st_uid != 0 && status.st_uid != other->uid)
      refuse_directory(directory, "users " + std::to_string(other->uid) + " and " +
                                      std::to_string(status.st_uid) + " own directories on the way");
    if (!other && status.st_uid != 0) other = ProcessUser{status.st_uid, status.st_gid, ""};
    if (each == each.parent_path()) return other;
  }
}

}  // namespace

fs::path act_as_owner_of(fs::path const& directory) {
  std::error_code error;
  fs::path const found = fs::canonical(directory, error);
  if (error)
    throw Error(error == std::errc::no_such_file_or_directory ? ErrorCode::not_found : ErrorCode::denied,
                directory.string() + ": " + error.message());
  if (::geteuid() != 0) return found;
  if (auto const other = other_owner(found)) become(*other);
  return found;
}

}  // namespace mpixrma::nam
