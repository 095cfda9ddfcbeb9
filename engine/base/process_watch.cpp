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
  Watched& watched = watched_[process];
  watched.pid = pid;
  watched.descriptor = FileDescriptor(open_process(pid));
  if (!watched.descriptor && errno == ESRCH) {
    ended_.push_back(process);
  } else if (!announce(process, watched)) {
    watched.polled = true;
    ++polled_;
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

std::vector<std::uint64_t> ProcessWatch::take_ended() {
  std::vector<std::uint64_t> ended = std::exchange(ended_, {});
  note_must_poll();
  std::array<epoll_event, 16> events;
  int const count =
      epoll_ ? ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0) : 0;
  for (int i = 0; i < count; ++i) ended.push_back(events[static_cast<std::size_t>(i)].data.u64);
  if (polled_ != 0) {
    for (auto const& [process, watched] : watched_) {
      if (watched.polled && !process_is_alive(watched.pid)) ended.push_back(process);
    }
  }
  for (std::uint64_t const process : ended) remove(process);
  return ended;
}

}  // namespace mpixrma::engine
