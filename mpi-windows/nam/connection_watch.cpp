#include "mpi-windows/nam/connection_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "engine/base/liveness.hpp"
#include "engine/base/service_thread.hpp"

namespace mpixrma::windows {

ConnectionWatch::ConnectionWatch(int socket, std::function<int()> on_end)
    : on_end_(std::move(on_end)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      owner_(engine::own_process_id()) {
  thread_ = engine::start_service_thread([this, socket] { run(socket); });
}

ConnectionWatch::~ConnectionWatch() {
  if (engine::own_process_id() != owner_) {
    thread_.detach();
    return;
  }
  std::uint64_t const one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

bool ConnectionWatch::sleep(int milliseconds) const {
  pollfd stop{stop_.get(), POLLIN, 0};
  return ::poll(&stop, 1, milliseconds) == 0;
}

void ConnectionWatch::run(int socket) const {
  while (socket >= 0) {
    pollfd entries[] = {{stop_.get(), POLLIN, 0}, {socket, POLLRDHUP, 0}};
    if (::poll(entries, 2, -1) < 0 && errno != EINTR) return;
    if (entries[0].revents != 0) return;
    if (entries[1].revents != 0) socket = on_end_();
  }
}

}  // namespace mpixrma::windows
