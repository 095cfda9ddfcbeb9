#include "engine/bootstrap/exit_notices.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace mpixrma::engine {

namespace {

constexpr std::string_view prefix = "gone.";

}  // namespace

ExitNotices::~ExitNotices() {
  if (!name_.empty() && pid_ == own_process_id()) ::unlinkat(directory_, name_.c_str(), 0);
}

/// The FIFO gets its final name only when it is open for reading, because a FIFO without a reader is taken
/// for that of a dead process.
bool ExitNotices::open(int directory) {
  directory_ = directory;
  std::string const own = std::to_string(pid_) + "." + std::to_string(reinterpret_cast<std::uintptr_t>(this));
  std::string const unfinished = "." + own;
  if (::mkfifoat(directory, unfinished.c_str(), S_IRUSR | S_IWUSR) != 0) return false;
  // Also opened for writing, so that it never reaches the end of file.
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

void ExitNotices::notify(std::uint64_t process) const {
  // A separate open file description of the directory, so that its position is not shared.
  int const listed = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> const directory(listed < 0 ? nullptr : ::fdopendir(listed),
                                                      &::closedir);
  if (!directory) return;
  while (dirent const* const entry = ::readdir(directory.get())) {
    std::string_view const name = entry->d_name;
    if (name.starts_with(prefix) && name != name_) write_to(entry->d_name, process);
  }
}

/// A write of this size to a FIFO is atomic, or fails if the reader has thousands of bytes pending.
void ExitNotices::write_to(char const* name, std::uint64_t process) const {
  constexpr int flags = O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor const read_by_somebody(::openat(directory_, name, O_WRONLY | flags));
  if (!read_by_somebody) {
    if (errno == ENXIO) ::unlinkat(directory_, name, 0);
    return;
  }
  // Also opened for reading, to avoid SIGPIPE if the reader ends at this moment.
  FileDescriptor const fifo(::openat(directory_, name, O_RDWR | flags));
  if (fifo) (void)!::write(fifo.get(), &process, sizeof process);
}

bool ExitNotices::next(std::uint64_t& process) {
  if (taken_ == count_) {
    ssize_t const got = ::read(fifo_.get(), received_.data(), sizeof received_);
    taken_ = 0;
    count_ = got > 0 ? static_cast<std::size_t>(got) / sizeof process : 0;
  }
  if (taken_ == count_) return false;
  process = received_[taken_++];
  return true;
}

}  // namespace mpixrma::engine
