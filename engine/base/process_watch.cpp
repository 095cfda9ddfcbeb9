#include "engine/base/process_watch.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/liveness.hpp"

namespace mpixrma::engine {

namespace {

int open_process(pid_t pid) noexcept {
#ifdef SYS_pidfd_open
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
#else
  errno = ENOSYS;
  return -1;
#endif
}

}  // namespace

ProcessWatch::ProcessWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

bool ProcessWatch::add(std::uint64_t process, pid_t pid) {
  if (pid == ::getpid()) return false;
  if (auto const known = watched_.find(process); known != watched_.end()) {
    if (known->second.pid == pid) return false;
    remove(process);
  }
  FileDescriptor descriptor(open_process(pid));
  if (!descriptor && errno == ESRCH) {
    ended_.push_back(process);
  } else {
    Watched& watched = watched_[process];
    watched.pid = pid;
    watched.descriptor = std::move(descriptor);
    watched.polled = !announce(process, watched);
    if (watched.polled) ++polled_;
  }
  note_must_poll();
  return true;
}

bool ProcessWatch::announce(std::uint64_t process, Watched& watched) {
  if (!watched.descriptor) return false;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = process;
  if (epoll_ && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watched.descriptor.get(), &event) == 0) return true;
  watched.descriptor = FileDescriptor();
  return false;
}

void ProcessWatch::remove(std::uint64_t process) {
  auto const found = watched_.find(process);
  if (found == watched_.end()) return;
  if (found->second.polled) --polled_;
  watched_.erase(found);  // closing a descriptor removes it from the epoll set
  note_must_poll();
}

void ProcessWatch::find_ended() {
  std::array<epoll_event, 16> events;
  int const count =
      epoll_ ? ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0) : 0;
  for (int i = 0; i < count; ++i) {
    std::uint64_t const process = events[static_cast<std::size_t>(i)].data.u64;
    ended_.push_back(process);
    remove(process);
  }
  if (polled_ == 0) return;
  std::erase_if(watched_, [this](auto const& entry) {
    if (!entry.second.polled || process_is_alive(entry.second.pid)) return false;
    ended_.push_back(entry.first);
    --polled_;
    return true;
  });
}

}  // namespace mpixrma::engine
