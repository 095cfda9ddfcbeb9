#include "engine/net/affordable_endpoints.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

namespace mpixrma::engine {

namespace {

/// Returns 0 if the number is unknown, and SIZE_MAX if no descriptor can be opened any more.
std::size_t open_descriptors() noexcept {
  // Since Linux 6.2 the directory's size is the number of descriptors; a list costs a look-up for each.
  struct stat directory {};
  if (::stat("/proc/self/fd", &directory) == 0 && directory.st_size > 0)
    return static_cast<std::size_t>(directory.st_size);
  std::unique_ptr<DIR, int (*)(DIR*)> const list(::opendir("/proc/self/fd"), &::closedir);
  if (list == nullptr) return errno == EMFILE ? SIZE_MAX : 0;
  std::size_t count = 0;
  while (dirent const* const entry = ::readdir(list.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count - 1;  // excludes the descriptor of the directory itself
}

}  // namespace

std::size_t affordable_endpoints() noexcept {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  auto const limit = static_cast<std::size_t>(files.rlim_cur);
  std::size_t const left = limit - std::min(limit, open_descriptors());
  return std::max<std::size_t>(left / 2, 1);
}

}  // namespace mpixrma::engine
