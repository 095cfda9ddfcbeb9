/// Encryption of data between clients on other hosts and the memory of windows.
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "tests/nam/job_engine.hpp"
#include "tests/nam/windows_of_server.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::nam {
namespace {

using Marker = std::vector<std::byte>;

/// Searches all data on the loopback interface for markers.
class LoopbackSniffer {
 public:
  explicit LoopbackSniffer(std::vector<Marker> markers)
      : markers_(std::move(markers)), found_(markers_.size()), socket_(open()) {
    if (socket_) reader_ = std::thread([this] { read(); });
  }
  ~LoopbackSniffer() { stop(); }
  LoopbackSniffer(LoopbackSniffer const&) = delete;
  LoopbackSniffer& operator=(LoopbackSniffer const&) = delete;

  bool is_listening() const { return bool(socket_); }
  /// Returns which of the markers were seen.
  std::vector<bool> stop() {
    stopping_.store(true);
    if (reader_.joinable()) reader_.join();
    return found_;
  }
  std::size_t packets() const { return packets_; }

 private:
  /// Needs CAP_NET_RAW.
  static FileDescriptor open() {
    FileDescriptor made(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
    if (!made) return {};
    int const bytes = 64 << 20;
    (void)::setsockopt(made.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
    bool const is_bound =
        ::bind(made.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
    return is_bound ? std::move(made) : FileDescriptor();
  }

  /// Reads until stop() is called, including data that have arrived by then.
  void read() {
    std::vector<std::byte> packet(1u << 17);
    for (;;) {
      pollfd entry{socket_.get(), POLLIN, 0};
      if (::poll(&entry, 1, 20) <= 0) {
        if (stopping_.load()) return;
        continue;
      }
      ssize_t const got = ::recv(socket_.get(), packet.data(), packet.size(), 0);
      if (got <= 0) continue;
      ++packets_;
      auto const end = packet.begin() + got;
      for (std::size_t i = 0; i < markers_.size(); ++i) {
        if (!found_[i])
          found_[i] = std::search(packet.begin(), end, markers_[i].begin(), markers_[i].end()) != end;
      }
    }
  }

  std::vector<Marker> markers_;
  std::vector<bool> found_;
  std::size_t packets_ = 0;
  FileDescriptor socket_;
  std::atomic<bool> stopping_{false};
  std::thread reader_;
};

std::vector<std::byte> repeated(Marker const& marker, std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = marker[i % marker.size()];
  return values;
}

TestServer::Arguments with(TestServer::Arguments const& more) {
  TestServer::Arguments all{"--size", "64M", "--listen", "none", "--interfaces", "lo"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Returns which markers were seen on the network while a client used a window of the server. The first
/// marker is in the data of puts, the second one in the data of a get, the third one is the operand of
/// updates.
std::vector<bool> seen(TestServer const& server, std::vector<Marker> const& markers) {
  Locator const grant = server.grant(8u << 20);
  Session session = Session::open(grant);
  std::vector<std::byte> const address = session.engine_address();
  WindowInfo const window = session.allocate({200000}, {1});
  auto const stored = repeated(markers[1], 60000);
  session.write(window, 0, 100000, stored);  // over the Unix socket
  LoopbackSniffer eavesdropper(markers);
  EXPECT_TRUE(eavesdropper.is_listening());
  std::vector<std::byte> kept;
  {
    JobEngine job;
    job.connect(address);
    // One large put, and then small ones.
    auto const sent = repeated(markers[0], 60000);
    EXPECT_EQ(job.put(window.exposure, 0, sent), MPIX_ENGINE_OK);
    for (std::size_t at = 0; at < 1200; at += 120)
      EXPECT_EQ(job.put(window.exposure, at, std::span(sent).subspan(at, 120)), MPIX_ENGINE_OK);
    std::vector<std::byte> found(60000);
    EXPECT_EQ(job.get(window.exposure, 100000, found), MPIX_ENGINE_OK);
    EXPECT_EQ(found, stored);
    std::uint64_t operand = 0;
    std::memcpy(&operand, markers[2].data(), sizeof operand);
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(job.add(window.exposure, 180000, MPIX_ENGINE_TYPE_UINT64, operand), MPIX_ENGINE_OK);
    kept = content(session, window, 0);  // by the Unix socket, before the connection ends the session
  }
  std::vector<bool> const result = eavesdropper.stop();
  EXPECT_GT(eavesdropper.packets(), 0u);
  kept.resize(60000);
  EXPECT_EQ(kept, repeated(markers[0], 60000));
  return result;
}

TEST(Encryption, DataAreEncryptedOnTheNetwork) {
  if (!is_root()) GTEST_SKIP() << "needs CAP_NET_RAW";
  std::mt19937_64 random(test::seed());
  std::vector<Marker> markers{Marker(24), Marker(24), Marker(sizeof(std::uint64_t))};
  for (Marker& marker : markers)
    std::generate(marker.begin(), marker.end(), [&] { return static_cast<std::byte>(random()); });
  TestServer open;
  open.start(with({}));
  EXPECT_EQ(seen(open, markers), (std::vector<bool>{true, true, true})) << "without --encrypt";
  TestServer encrypting;
  encrypting.start(with({"--encrypt"}));
  EXPECT_EQ(seen(encrypting, markers), (std::vector<bool>{false, false, false})) << "with --encrypt";
}

TEST(Encryption, RefusesClientThatRequiresUnavailableEncryption) {
  TestServer server;
  server.start(with({}));
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  ::setenv("MPIX_NAM_ENCRYPT", "1", 1);
  EXPECT_EQ(refusal([&] { (void)session.engine_address(); }), ErrorCode::unsupported);
  ::unsetenv("MPIX_NAM_ENCRYPT");
  std::vector<std::byte> const address = session.engine_address();
  EXPECT_FALSE(is_encrypted(address));
  EXPECT_EQ(refusal([&] { demand_encryption(address); }), ErrorCode::unsupported);
  EXPECT_EQ(server.show(grant).at("network"), "unencrypted");
}

TEST(Encryption, ServesClientThatRequiresIt) {
  TestServer server;
  server.start(with({"--encrypt"}));
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  ::setenv("MPIX_NAM_ENCRYPT", "1", 1);
  EXPECT_TRUE(is_encrypted(session.engine_address()));
  ::unsetenv("MPIX_NAM_ENCRYPT");
  EXPECT_EQ(server.show(grant).at("network"), "encrypted");
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("network"), "encrypted");
  EXPECT_EQ(server.ask({{"op", "list"}}).at("grants").at(0).at("network"), "encrypted");
}

TEST(Encryption, ExcludesRemoteKeys) {
  TestServer server;
  server.spawn(with({"--encrypt", "--rdma", "auto"}));
  EXPECT_EQ(server.exit_code(20000), 2);
}

/// The data process notices that the encrypted connection has ended, and releases the session's locks.
TEST(Encryption, SessionEndsWithItsConnection) {
  TestServer server;
  server.start(with({"--encrypt"}));
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  Session other = Session::open(grant);
  WindowInfo const window = other.allocate({64}, {1});
  {
    JobEngine job;
    job.connect(session.engine_address());
    EXPECT_EQ(job.put(session.join(window.id).exposure, 0, pattern(8, 1)), MPIX_ENGINE_OK);
    bool has_turn = false;
    EXPECT_TRUE(session.try_lock(window, 1, 0, engine::LockMode::exclusive, &has_turn));
  }
  bool has_turn = false;
  EXPECT_TRUE(
      eventually([&] { return other.try_lock(window, 1, 0, engine::LockMode::exclusive, &has_turn); }));
  EXPECT_EQ(refusal([&] { (void)session.usage(); }), ErrorCode::unavailable);
}

}  // namespace
}  // namespace mpixrma::nam
