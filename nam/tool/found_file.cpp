#include "nam/tool/found_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

constexpr int max_links = 40;

[[noreturn]] void refuse_path(std::filesystem::path const& path, std::string const& reason) {
  throw Error(ErrorCode::bad_request, "cannot open " + path.string() + ": " + reason);
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

/// Returns the target of the symbolic link `link`.
std::filesystem::path target_of(engine::FileDescriptor const& link, std::filesystem::path const& path) {
  std::array<char, PATH_MAX> target{};
  ssize_t const length = ::readlinkat(link.get(), "", target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) == target.size()) refuse_path(path, "a damaged link");
  return std::string(target.data(), static_cast<std::size_t>(length));
}

/// Whether the directory is in /proc: links there lead to open files, which may have no path (/dev/stdin).
bool is_of_processes(engine::FileDescriptor const& directory) {
  struct statfs found {};
  return ::fstatfs(directory.get(), &found) == 0 && found.f_type == PROC_SUPER_MAGIC;
}

}  // namespace

/// Resolves the path step by step: the kernel would follow the links of all users.
engine::FileDescriptor find_file(std::filesystem::path const& path) {
  std::deque<std::string> steps;
  prepend(path, &steps);
  engine::FileDescriptor at = beginning_of(path);
  for (int links = 0; at && !steps.empty();) {
    std::string const step = steps.front();
    steps.pop_front();
    if (step.empty()) continue;
    engine::FileDescriptor next(::openat(at.get(), step.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!next || ::fstat(next.get(), &status) != 0) refuse_path(path, std::strerror(errno));
    if (!S_ISLNK(status.st_mode)) {
      at = std::move(next);
      continue;
    }
    if (++links > max_links) refuse_path(path, std::strerror(ELOOP));
    if (status.st_uid != 0 && status.st_uid != ::geteuid())
      refuse_path(path,
                  "user " + std::to_string(status.st_uid) + " has set a symbolic link on the way there");
    if (is_of_processes(at)) {
      at = engine::FileDescriptor(::openat(at.get(), step.c_str(), O_PATH | O_CLOEXEC));
      continue;
    }
    std::filesystem::path const target = target_of(next, path);
    prepend(target, &steps);
    if (target.is_absolute()) at = beginning_of(target);
  }
  if (!at) refuse_path(path, std::strerror(errno));
  return at;
}

}  // namespace mpixrma::nam
