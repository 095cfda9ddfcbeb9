/// Events of the connections that UCX has in this process. UCX 1.13 crashes where a connection is reported as
/// readable and writable at once and its end is what can be read: it frees the connection when it reads, and
/// writes afterwards. A client could end a data process so, by leaving answers that it does not take. So this
/// program has an epoll_wait() of its own, which UCX's library calls: it reports that a connection can be
/// written once there is nothing to be read. The kernel reports again what was left out, except to callers
/// that ask for changes only (EPOLLET), of which UCX has none that write.
#include <sys/epoll.h>

#include <cstdint>

/// In the place of the C library's, for UCX.
extern "C" __attribute__((visibility("default"))) int epoll_wait(int epoll, epoll_event* events, int room,
                                                                 int timeout) {
  int const count = ::epoll_pwait(epoll, events, room, timeout, nullptr);
  for (int i = 0; i < count; ++i) {
    if ((events[i].events & EPOLLIN) != 0) events[i].events &= ~static_cast<std::uint32_t>(EPOLLOUT);
  }
  return count;
}
