#include "nam/tool/new_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

constexpr int max_links = 40;

[[noreturn]] void refuse(std::filesystem::path const& path, std::string const& reason) {
  throw Error(ErrorCode::bad_request, "cannot write " + path.string() + ": " + reason);
}

void prepend(std::filesystem::path const& path, std::deque<std::string>* steps) {
  std::deque<std::string> all;
  for (auto const& step : path.relative_path()) all.push_back(step.string());
  all.insert(all.end(), steps->begin(), steps->end());
  *steps = std::move(all);
}

engine::FileDescriptor beginning_of(std::filesystem::path const& path) {
  return engine::FileDescriptor(::open(path.is_absolute() ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// Returns the target of the symbolic link `link`. Refuses a link that another user has made.
std::filesystem::path target_of(engine::FileDescriptor const& link, struct stat const& status,
                                std::filesystem::path const& path) {
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    refuse(path, "user " + std::to_string(status.st_uid) + " has set a symbolic link on the way there");
  std::array<char, PATH_MAX> target{};
  ssize_t const length = ::readlinkat(link.get(), "", target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) == target.size()) refuse(path, "a damaged link");
  return std::string(target.data(), static_cast<std::size_t>(length));
}

/// Step by step: the kernel would follow the links of everybody.
engine::FileDescriptor open_directory(std::filesystem::path const& directory,
                                      std::filesystem::path const& path) {
  std::deque<std::string> steps;
  prepend(directory, &steps);
  engine::FileDescriptor at = beginning_of(directory);
  for (int links = 0; at && !steps.empty();) {
    std::string const step = steps.front();
    steps.pop_front();
    if (step.empty()) continue;
    engine::FileDescriptor next(::openat(at.get(), step.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!next || ::fstat(next.get(), &status) != 0) refuse(path, std::strerror(errno));
    if (!S_ISLNK(status.st_mode)) {
      at = std::move(next);
      continue;
    }
    if (++links > max_links) refuse(path, std::strerror(ELOOP));
    std::filesystem::path const target = target_of(next, status, path);
    prepend(target, &steps);
    if (target.is_absolute()) at = beginning_of(target);
  }
  if (!at) refuse(path, std::strerror(errno));
  return at;
}

}  // namespace

NewFile::NewFile(std::filesystem::path const& path)
    : path_(path),
      name_(path.filename().string()),
      unfinished_(name_ + ".unfinished"),
      directory_(open_directory(path.parent_path(), path)) {
  if (name_.empty()) refuse(path_, "it is a directory");
  (void)::unlinkat(directory_.get(), unfinished_.c_str(), 0);  // of one that was interrupted
  file_ = engine::FileDescriptor(::openat(directory_.get(), unfinished_.c_str(),
                                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                          S_IRUSR | S_IWUSR));
  if (!file_) refuse(path_, std::strerror(errno));
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
