#include "nam/client/locked_temp_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

namespace fs = std::filesystem;

constexpr char const* usual_parent = "/tmp";

engine::FileDescriptor open_directory(fs::path const& path) {
  return engine::FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_own(engine::FileDescriptor const& directory) {
  struct stat status {};
  return ::fstat(directory.get(), &status) == 0 && status.st_uid == ::geteuid();
}

/// Whether users other than root and this one can exchange a directory in `parent` for another one of this
/// user, which would then be removed. In a directory with the sticky bit they cannot.
bool others_exchange_entries(fs::path const& parent) {
  std::error_code error;
  for (fs::path each = fs::canonical(parent, error); !error; each = each.parent_path()) {
    struct stat status {};
    bool const is_known = ::stat(each.c_str(), &status) == 0;
    bool const others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0;
    if (!is_known || others_write || (status.st_uid != 0 && status.st_uid != ::geteuid())) return true;
    if (each == each.parent_path()) return false;
  }
  return true;
}

/// The directory itself is locked, because a separate lock file would exist before or after the directory.
void remove_abandoned(fs::path const& parent, std::string const& prefix) {
  std::error_code error;
  for (fs::directory_iterator each(parent, error), end; !error && each != end; each.increment(error)) {
    if (!each->path().filename().string().starts_with(prefix)) continue;
    engine::FileDescriptor const directory = open_directory(each->path());
    if (!directory || !is_own(directory) || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(each->path(), ignored);
  }
}

/// Another process may have removed the directory as abandoned before this process locked it.
bool is_at(fs::path const& path, engine::FileDescriptor const& directory) {
  struct stat there {};
  struct stat held {};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(directory.get(), &held) == 0 &&
         there.st_ino == held.st_ino;
}

}  // namespace

LockedTempDirectory make_locked_temp_directory(std::string const& prefix) {
  fs::path parent = fs::temp_directory_path();
  bool removes = !others_exchange_entries(parent);
  if (!removes && !others_exchange_entries(usual_parent)) {
    parent = usual_parent;
    removes = true;
  }
  if (removes) remove_abandoned(parent, prefix);
  for (;;) {
    std::string name = (parent / (prefix + "XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error(ErrorCode::unavailable, "cannot create " + name + ": " + std::strerror(errno));
    LockedTempDirectory made{name, open_directory(name)};
    // Another process may have removed it as one that a killed process has left.
    if (!made.held && errno == ENOENT) continue;
    if (!made.held) {
      std::string const reason = std::strerror(errno);
      (void)::rmdir(name.c_str());
      throw Error(ErrorCode::unavailable, "cannot open " + name + ": " + reason);
    }
    bool const refused = ::flock(made.held.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!refused && is_at(made.path, made.held)) return made;
    (void)::rmdir(name.c_str());
  }
}

}  // namespace mpixrma::nam
