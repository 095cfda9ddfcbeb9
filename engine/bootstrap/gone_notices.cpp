#include "engine/bootstrap/gone_notices.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

namespace mpixrma::engine {

namespace {

constexpr std::string_view prefix = "gone.";

}  // namespace

GoneNotices::~GoneNotices() {
  if (!name_.empty() && pid_ == own_process_id()) ::unlinkat(directory_, name_.c_str(), 0);
}

/// It gets its name when it is read from: who finds one that nobody reads takes it for a dead process's.
bool GoneNotices::open(int directory) {
  directory_ = directory;
  std::string const own = std::to_string(pid_) + "." + std::to_string(reinterpret_cast<std::uintptr_t>(this));
  std::string const unfinished = "." + own;
  if (::mkfifoat(directory, unfinished.c_str(), S_IRUSR | S_IWUSR) != 0) return false;
  // Open for writing, too, it never comes to its end.
  fifo_ =
      FileDescriptor(::openat(directory, unfinished.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  std::string const name = std::string(prefix) + own;
  if (fifo_ && ::renameat(directory, unfinished.c_str(), directory, name.c_str()) == 0) {
    name_ = name;
    return true;
  }
  int const error = errno;
  ::unlinkat(directory, unfinished.c_str(), 0);
  errno = error;
  return false;
}

void GoneNotices::tell(std::uint64_t process) const {
  // Another description of the directory: the position in it is not shared.
  int const listed = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> const directory(listed < 0 ? nullptr : ::fdopendir(listed),
                                                      &::closedir);
  if (!directory) return;
  while (dirent const* const entry = ::readdir(directory.get())) {
    std::string_view const name = entry->d_name;
    if (name.starts_with(prefix) && name != name_) write_to(entry->d_name, process);
  }
}

/// So few bytes go into a FIFO whole, or not at all where its reader has left thousands unread.
void GoneNotices::write_to(char const* name, std::uint64_t process) const {
  constexpr int flags = O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor const read_by_somebody(::openat(directory_, name, O_WRONLY | flags));
  if (!read_by_somebody) {
    if (errno == ENXIO) ::unlinkat(directory_, name, 0);
    return;
  }
  // Open for reading, too: no SIGPIPE where its reader ends just now.
  FileDescriptor const fifo(::openat(directory_, name, O_RDWR | flags));
  if (fifo) (void)!::write(fifo.get(), &process, sizeof process);
}

bool GoneNotices::next(std::uint64_t& process) {
  std::array<std::uint64_t, 512> told;
  if (told_.empty()) {
    ssize_t const got = ::read(fifo_.get(), told.data(), sizeof told);
    if (got > 0) told_.insert(told_.end(), told.begin(), told.begin() + got / ssize_t{sizeof process});
  }
  if (told_.empty()) return false;
  process = told_.front();
  told_.pop_front();
  return true;
}

}  // namespace mpixrma::engine
