#include "nam/tool/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "nam/protocol/error.hpp"
#include "nam/protocol/user_secret.hpp"
#include "nam/tool/found_file.hpp"

namespace mpixrma::nam {

namespace {

[[noreturn]] void refuse_new_file(std::filesystem::path const& path, std::string const& reason) {
  throw Error(ErrorCode::bad_request, "cannot write " + path.string() + ": " + reason);
}

/// Returns the reason why nothing may take the place of the entry `name`; empty if it is a regular file, or
/// absent. A rename would remove a device, a pipe, or a link whose target was meant.
std::string obstacle_in(engine::FileDescriptor const& directory, std::string const& name) {
  struct stat status {};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? "" : std::strerror(errno);
  if (S_ISREG(status.st_mode)) return "";
  return S_ISLNK(status.st_mode) ? "it is a symbolic link" : "it is no regular file";
}

}  // namespace

NewFile::NewFile(std::filesystem::path const& path)
    : path_(path),
      name_(path.filename().string()),
      unfinished_(".mpix-nam." + random_identifier() + ".unfinished"),
      directory_(find_file(path.parent_path())) {
  if (name_.empty()) refuse_new_file(path_, "it is a directory");
  if (std::string const obstacle = obstacle_in(directory_, name_); !obstacle.empty())
    refuse_new_file(path_, obstacle);
  // Without a name, nothing of an interrupted backup remains.
  file_ = engine::FileDescriptor(
      ::openat(directory_.get(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file_ && ::access(path_of_open_file().c_str(), F_OK) == 0) return;
  file_ = engine::FileDescriptor(::openat(directory_.get(), unfinished_.c_str(),
                                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                          S_IRUSR | S_IWUSR));
  is_named_ = true;
  if (!file_) refuse_new_file(path_, std::strerror(errno));
}

NewFile::~NewFile() {
  if (file_ && is_named_) (void)::unlinkat(directory_.get(), unfinished_.c_str(), 0);
}

/// By which finish() gives the file a name.
std::string NewFile::path_of_open_file() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

void NewFile::fail() const {
  throw Error(ErrorCode::no_space, "cannot write " + path_.string() + ": " + std::strerror(errno));
}

void NewFile::write(std::span<std::byte const> bytes) {
  while (!bytes.empty()) {
    ssize_t const written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// Some file systems do not permit this, nor does a directory that the user may not read.
void NewFile::sync_directory() const {
  engine::FileDescriptor const opened(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened && ::fsync(opened.get()) != 0 && errno != EINVAL) fail();
}

void NewFile::finish() {
  if (std::string const obstacle = obstacle_in(directory_, name_); !obstacle.empty())
    refuse_new_file(path_, obstacle);
  if (::fsync(file_.get()) != 0) fail();
  // The final name comes by a rename, which replaces a file: linkat() does not.
  if (!is_named_ && ::linkat(AT_FDCWD, path_of_open_file().c_str(), directory_.get(), unfinished_.c_str(),
                             AT_SYMLINK_FOLLOW) != 0)
    fail();
  is_named_ = true;
  if (::renameat(directory_.get(), unfinished_.c_str(), directory_.get(), name_.c_str()) != 0) fail();
  is_named_ = false;
  sync_directory();
  file_ = engine::FileDescriptor();
}

}  // namespace mpixrma::nam
