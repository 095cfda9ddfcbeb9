#include "nam/server/catalog_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

namespace fs = std::filesystem;
using engine::FileDescriptor;

constexpr char const* endings[] = {"", "-wal", "-shm"};

[[noreturn]] void fail(std::string const& what) {
  int const error = errno;
  ErrorCode const code = error == EACCES || error == EPERM || error == EROFS ? ErrorCode::denied
                         : error == ENOSPC || error == EDQUOT                ? ErrorCode::no_space
                         : error == ENOENT                                   ? ErrorCode::not_found
                                                                             : ErrorCode::internal;
  throw Error(code, what + ": " + std::strerror(error));
}

void sync_directory_of(fs::path const& file) {
  FileDescriptor const directory(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) fail("cannot sync " + file.parent_path().string());
}

void copy_file(fs::path const& from, fs::path const& to) {
  FileDescriptor const source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!source || ::fstat(source.get(), &status) != 0) fail("cannot read " + from.string());
  FileDescriptor const copy(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!copy) fail("cannot write " + to.string());
  // Only root may give a file away.
  if (::geteuid() == 0 && ::fchown(copy.get(), status.st_uid, status.st_gid) != 0)
    fail("cannot own " + to.string());
  if (::fchmod(copy.get(), status.st_mode & 07777) != 0) fail("cannot change the mode of " + to.string());
  std::vector<char> block(1u << 20);
  for (;;) {
    ssize_t const bytes = ::read(source.get(), block.data(), block.size());
    if (bytes == 0) break;
    if (bytes < 0) fail("cannot read " + from.string());
    for (ssize_t done = 0; done < bytes;) {
      ssize_t const written =
          ::write(copy.get(), block.data() + done, static_cast<std::size_t>(bytes - done));
      if (written <= 0) fail("cannot write " + to.string());
      done += written;
    }
  }
  if (::fsync(copy.get()) != 0) fail("cannot sync " + to.string());
}

}  // namespace

FileDescriptor lock_directory(fs::path const& directory) {
  fs::path const file = directory / "lock";
  FileDescriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!lock) fail("cannot open " + file.string());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) fail("cannot lock " + file.string());
  throw Error(ErrorCode::exists, "another server uses the directory " + directory.string());
}

void copy_catalog(fs::path const& from, fs::path const& to) {
  for (char const* const ending : endings) {
    if (fs::exists(from.string() + ending)) copy_file(from.string() + ending, to.string() + ending);
  }
  sync_directory_of(to);
}

void remove_catalog(fs::path const& file) {
  for (char const* const ending : endings) fs::remove(file.string() + ending);
}

void replace_catalog(fs::path const& from, fs::path const& to) {
  struct stat status {};
  if (::stat(to.c_str(), &status) != 0) fail("cannot read " + to.string());
  if (::geteuid() == 0 && ::chown(from.c_str(), status.st_uid, status.st_gid) != 0)
    fail("cannot own " + from.string());
  if (::chmod(from.c_str(), status.st_mode & 07777) != 0) fail("cannot change the mode of " + from.string());
  // The log must be removed first: SQLite would apply it to the new file.
  for (char const* const ending : {"-wal", "-shm"}) fs::remove(to.string() + ending);
  sync_directory_of(to);
  if (::rename(from.c_str(), to.c_str()) != 0) fail("cannot rename " + from.string());
  sync_directory_of(to);
}

fs::path free_name_for_damaged(fs::path const& file) {
  fs::path name = file.string() + ".damaged";
  for (int number = 1; fs::exists(name); ++number)
    name = file.string() + ".damaged." + std::to_string(number);
  return name;
}

}  // namespace mpixrma::nam
