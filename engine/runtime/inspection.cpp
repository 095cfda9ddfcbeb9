#include "engine/runtime/inspection.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <exception>

namespace mpixrma::engine {

namespace {

bool may_ask(int connection) noexcept {
  ucred asking{};
  socklen_t length = sizeof asking;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &asking, &length) != 0) return false;
  return asking.uid == 0 || asking.uid == ::geteuid();
}

}  // namespace

void Inspection::open() noexcept {
  static std::atomic<unsigned> engines{0};
  FileDescriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The first byte stays 0, for an abstract name.
  int const length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s%d/%u", prefix,
                    static_cast<int>(::getpid()), engines.fetch_add(1, std::memory_order_relaxed));
  auto const bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  if (::bind(made.get(), reinterpret_cast<sockaddr const*>(&address), bytes) != 0) return;
  constexpr int max_waiting = 4;
  if (::listen(made.get(), max_waiting) != 0) return;
  socket_ = std::move(made);
  socket_kept_ = KeptFromChildren(fd());
}

void Inspection::reply(std::function<std::string()> const& describe) const noexcept {
  for (;;) {
    FileDescriptor const connection(::accept4(fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection) return;
    if (!may_ask(connection.get())) continue;
    try {
      std::string const text = describe();
      // As much as the socket buffers: a slow reader must not delay the agent.
      (void)!::send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    } catch (std::exception const&) {
      // Without memory the client gets no reply and must ask again.
    }
  }
}

}  // namespace mpixrma::engine
