/// Events of the connections that UCX has in this process, filtered so that UCX 1.13 does not crash. UCX's
/// library calls the functions of this file instead of the C library's. Without them a client could end a
/// data process by not reading its answers.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace {

bool is_tcp(int socket) {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  return ::getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP;
}

/// Whether `error` means that the connection has ended.
bool is_disconnect_error(int error) {
  return error == ECONNRESET || error == EPIPE || error == ETIMEDOUT || error == EHOSTUNREACH ||
         error == ENETUNREACH;
}

}  // namespace

/// UCX crashes if an ended connection is reported as readable and writable at once: UCX frees the connection
/// when it reads the end, and writes afterwards. So a connection is reported as writable only when there is
/// nothing to be read. The kernel reports again what was left out, except for descriptors that are watched
/// with EPOLLET: UCX writes to none of these.
extern "C" __attribute__((visibility("default"))) int epoll_wait(int epoll, epoll_event* events, int room,
                                                                 int timeout) {
  int const count = ::epoll_pwait(epoll, events, room, timeout, nullptr);
  for (int i = 0; i < count; ++i) {
    if ((events[i].events & EPOLLIN) != 0) events[i].events &= ~static_cast<std::uint32_t>(EPOLLOUT);
  }
  return count;
}

/// UCX completes a request twice if the rest of its data cannot be sent because the connection has just
/// ended, and aborts. So the error is reported as a full socket buffer (EAGAIN). A connection that has ended
/// is readable: UCX reads its end next. The server's own connections, whose calls have MSG_DONTWAIT, keep
/// their errors.
extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int socket, msghdr const* message,
                                                                  int flags) {
  ssize_t const sent = ::syscall(SYS_sendmsg, socket, message, flags);
  if (sent < 0 && is_disconnect_error(errno) && (flags & MSG_DONTWAIT) == 0 && is_tcp(socket)) errno = EAGAIN;
  return sent;
}
