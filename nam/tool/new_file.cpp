#include "nam/tool/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "nam/protocol/error.hpp"
#include "nam/tool/found_file.hpp"

namespace mpixrma::nam {

namespace {

[[noreturn]] void refuse_new_file(std::filesystem::path const& path, std::string const& reason) {
  throw Error(ErrorCode::bad_request, "cannot write " + path.string() + ": " + reason);
}

}  // namespace

NewFile::NewFile(std::filesystem::path const& path)
    : path_(path),
      name_(path.filename().string()),
      unfinished_(name_ + ".unfinished"),
      directory_(find_file(path.parent_path())) {
  if (name_.empty()) refuse_new_file(path_, "it is a directory");
  (void)::unlinkat(directory_.get(), unfinished_.c_str(), 0);  // left by an interrupted backup
  file_ = engine::FileDescriptor(::openat(directory_.get(), unfinished_.c_str(),
                                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                          S_IRUSR | S_IWUSR));
  if (!file_) refuse_new_file(path_, std::strerror(errno));
}

NewFile::~NewFile() {
  if (file_) (void)::unlinkat(directory_.get(), unfinished_.c_str(), 0);
}

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

void NewFile::finish() {
  if (::fsync(file_.get()) != 0 ||
      ::renameat(directory_.get(), unfinished_.c_str(), directory_.get(), name_.c_str()) != 0)
    fail();
  file_ = engine::FileDescriptor();
}

}  // namespace mpixrma::nam
