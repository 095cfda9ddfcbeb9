/// A user who, together with others, takes as much as a memory server gives over TCP: sessions of his own
/// grant and of another user's window, connections, and the server's time. Prints "ready" with numbers when
/// the server gives no more, and continues until stdin is closed.
///
/// nam_colluder PORT: the port name of a persistent window that the user may read
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nam/client/session.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/protocol/socket.hpp"

namespace {

using namespace mpixrma::nam;

constexpr int timeout_ms = 5000;

/// Calls `take` until it has failed a few times in sequence.
template <typename Take>
void take_all(Take take) {
  constexpr int max_failures = 3;
  for (int failures = 0; failures < max_failures;) {
    try {
      take();
      failures = 0;
    } catch (Error const&) {
      ++failures;
    }
  }
}

template <typename Action>
void ignore_errors(Action action) {
  try {
    action();
  } catch (Error const&) {
  }
}

class Colluder {
 public:
  explicit Colluder(std::string port) : port_(std::move(port)), server_(parse_locator(port_).address) {
    server_.unix_path.clear();
  }

  void take_everything() {
    ignore_errors([this] {
      Json const made = Client(server_, timeout_ms).request({{"op", "grant"}, {"bytes", 4096}});
      own_ = parse_locator(made.at("locator").get<std::string>());
      own_.address = server_;
    });
    take_all([this] { guests_.push_back(Session::connect(port_, server_, &window_)); });
    if (!own_.grant.empty()) take_all([this] { sessions_.push_back(Session::open(own_, timeout_ms)); });
    take_connections();
    std::printf("ready: %zu sessions of the window, %zu of an own grant, %zu connections\n", guests_.size(),
                sessions_.size(), connections_.size());
    std::fflush(stdout);
  }

  /// Opens silent connections, replaces those that the server has ended, and sends requests that take the
  /// server's time.
  void load_server() {
    for (int i = 0; i < 20; ++i) {
      silent_.push_back(connect_tcp(server_.host, server_.port, timeout_ms));
      send_hello(silent_.back());
    }
    while (silent_.size() > 200) silent_.pop_front();
    std::erase_if(connections_, [](Client const& client) { return !client.is_open(); });
    take_connections();
    for (Client& client : connections_)
      ignore_errors([&] { client.send_unanswered({{"op", "names"}, {"all", true}}); });
    std::vector<std::byte> bytes(1u << 18);
    for (Session& guest : guests_) ignore_errors([&] { guest.read(window_, 0, 0, bytes); });
  }

 private:
  void take_connections() {
    take_all([this] { connections_.emplace_back(server_, timeout_ms); });
  }
  static void send_hello(FileDescriptor const& socket) {
    if (!socket) return;
    Channel channel(FileDescriptor(::dup(socket.get())), {});
    channel.post(ClientHandshake().hello(std::nullopt));
    (void)channel.flush();
  }

  std::string port_;
  Address server_;
  Locator own_;
  WindowInfo window_;
  std::deque<Session> guests_;
  std::deque<Session> sessions_;
  std::deque<Client> connections_;
  std::deque<FileDescriptor> silent_;
};

void end_with_stdin() {
  char ignored = 0;
  while (::read(STDIN_FILENO, &ignored, 1) > 0) {
  }
  ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::thread(end_with_stdin).detach();
  ::setenv("MPIX_NAM_TCP", "1", 1);
  rlimit descriptors{};
  (void)::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, 65536);
  (void)::setrlimit(RLIMIT_NOFILE, &descriptors);
  Colluder colluder(argv[1]);
  colluder.take_everything();
  for (;;) colluder.load_server();
}
