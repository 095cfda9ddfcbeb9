/// A host that opens connections as fast as it can, from one address and from thousands: clients on other
/// hosts are served.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/nam/attacks/attack.hpp"
#include "tests/nam/attacks/client_files.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/network_host.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr char const* server_host = "10.97.1.1";
constexpr char const* attacking_host = "10.97.1.2";
constexpr std::uint32_t first_source = 0x0a600000;  // 10.96.0.0/16, routed to the attacker

/// The server's host is that of this process; each of the other two has a link to it.
struct Hosts {
  std::unique_ptr<NetworkHost> attacker = NetworkHost::make();
  std::unique_ptr<NetworkHost> client = NetworkHost::make();

  static bool link(NetworkHost const& host, std::string const& name, std::string const& subnet) {
    return run_command("ip link add " + name + " type veth peer name far netns " +
                       std::to_string(host.keeper())) &&
           run_command("ip addr add " + subnet + ".1/24 dev " + name) &&
           run_command("ip link set " + name + " up") &&
           host.run("ip addr add " + subnet + ".2/24 dev far") && host.run("ip link set far up") &&
           host.run("ip route add default via " + subnet + ".1");
  }
  bool connect() const {
    return attacker && client && link(*attacker, "attacker", "10.97.1") &&
           link(*client, "client", "10.97.2") &&
           run_command("ip route add 10.96.0.0/16 via " + std::string(attacking_host)) &&
           attacker->run("ip route add local 10.96.0.0/16 dev lo");
  }
};

/// Returns nullptr where the system does not permit such hosts.
Hosts const* hosts() {
  static Hosts const* const made = []() -> Hosts const* {
    if (!become_host()) return nullptr;
    static Hosts const all;
    return all.connect() ? &all : nullptr;
  }();
  return made;
}

/// Begins a connection from any of `sources` addresses, and returns its descriptor.
int begin_connection(std::uint16_t port, std::uint32_t sources, std::uint32_t number) {
  int const socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  int const on = 1;
  linger const reset{1, 0};  // leaves no port in TIME_WAIT
  (void)::setsockopt(socket, IPPROTO_IP, IP_FREEBIND, &on, sizeof on);
  (void)::setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(first_source + number * 2654435761u % sources);
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return ::close(socket), -1;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, server_host, &address.sin_addr);
  (void)::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  return socket;
}

/// Keeps `connections` silent connections open, and makes a new one for each that the server ends. Returns
/// the number of connections that the server has ended.
std::uint64_t flood(std::uint16_t port, std::uint32_t sources, int connections,
                    std::atomic<bool> const& stop) {
  FileDescriptor const events(::epoll_create1(EPOLL_CLOEXEC));
  std::uint64_t ended = 0;
  std::uint32_t begun = 0;
  for (int open = 0; !stop;) {
    for (; open < connections; ++open) {
      int const socket = begin_connection(port, sources, begun++);
      if (socket < 0) break;
      epoll_event event{EPOLLRDHUP | EPOLLIN, {.fd = socket}};
      (void)::epoll_ctl(events.get(), EPOLL_CTL_ADD, socket, &event);
    }
    epoll_event found[256];
    int const count = ::epoll_wait(events.get(), found, 256, 1);
    for (int i = 0; i < count; ++i) ::close(found[i].data.fd);
    open -= std::max(count, 0);
    ended += static_cast<std::uint64_t>(std::max(count, 0));
  }
  return ended;
}

class Flood : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Flood, DoesNotBlockClientsOfOtherHosts) {
  if (!is_root() || hosts() == nullptr) GTEST_SKIP() << "needs root, and network namespaces";
  TestServer server;
  start_with_descriptors(server, {"--size", "64M", "--listen", std::string(server_host) + ":0"}, 65536,
                         65536);
  ClientFiles const files(server);
  Locator grant = server.grant(1u << 20);
  WindowInfo const window = make_persistent(grant, 100, 1);
  grant.address.unix_path.clear();

  rlimit const descriptors{8192, 8192};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &descriptors), 0);
  std::atomic<bool> stop = false;
  std::uint64_t ended = 0;
  std::thread attacker([&, port = grant.address.port] {
    ASSERT_TRUE(hosts()->attacker->enter());
    ended = flood(port, GetParam(), 4000, stop);
  });
  int served = 0;
  std::thread client([&] {
    ASSERT_TRUE(hosts()->client->enter());
    auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < latest) {
      EXPECT_EQ(refusal([&] {
                  Session session = Session::open(grant);
                  WindowInfo const joined = session.join(parse_locator(window.port).window);
                  EXPECT_EQ(content(session, joined, 0), pattern(100, 1));
                }),
                std::nullopt);
      ++served;
    }
  });
  client.join();
  stop = true;
  attacker.join();
  EXPECT_GE(served, 2);
  EXPECT_GT(ended, 1000u) << "the attack was none";
}

INSTANTIATE_TEST_SUITE_P(Addresses, Flood, ::testing::Values(1u, 65536u), [](auto const& sources) {
  return sources.param == 1 ? std::string("One") : std::string("Many");
});

}  // namespace
}  // namespace mpixrma::nam
