/// Attacks on the places for connections at the server: unauthenticated connections exclude nobody.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nam/process/admission.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/protocol/socket.hpp"
#include "tests/nam/attacks/attack.hpp"
#include "tests/nam/attacks/client_files.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// Admission of a server's connections, without the server.
class AdmissionTest : public ::testing::Test {
 protected:
  std::uint64_t admit(std::string const& peer, Standing standing = Standing::unauthenticated) {
    std::uint64_t const connection = next_++;
    held_[connection] = admission_.admit({peer, standing, connection});
    return connection;
  }
  void fill(std::string const& host, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) admit(host);
  }
  bool has(std::uint64_t connection) const { return held_.contains(connection); }

  std::uint64_t next_ = 1;
  Admission admission_{64, [this](std::uint64_t connection) { EXPECT_EQ(held_.erase(connection), 1u); }};
  std::map<std::uint64_t, Admission::Place> held_;
};

TEST_F(AdmissionTest, NewConnectionReplacesOldestOfItsHost) {
  std::uint64_t const other = admit("host a");
  std::uint64_t const oldest = admit("host b");
  fill("host b", 15);
  EXPECT_EQ(admission_.count(), 17u);
  std::uint64_t const newest = admit("host b");
  EXPECT_FALSE(has(oldest));
  EXPECT_TRUE(has(other) && has(newest) && has(oldest + 1));
  EXPECT_EQ(admission_.count(), 17u);
}

/// A host that connects fast cannot have connections ended before the server answers them.
TEST(AdmissionMinStay, AreNotTakenByConnectionsOfTheSameHost) {
  std::map<std::uint64_t, Admission::Place> held;
  Admission admission(
      64, [&](std::uint64_t connection) { held.erase(connection); }, std::chrono::milliseconds(200));
  std::uint64_t next = 1;
  auto const admit = [&](std::string const& host) {
    held[next] = admission.admit({host, Standing::unauthenticated, next});
    ++next;
  };
  for (int i = 0; i < 16; ++i) admit("host a");
  EXPECT_EQ(refusal([&] { admit("host a"); }), ErrorCode::quota);
  EXPECT_TRUE(held.contains(1));
  EXPECT_EQ(refusal([&] { admit("host b"); }), std::nullopt);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(refusal([&] { admit("host a"); }), std::nullopt);
  EXPECT_FALSE(held.contains(1));
  held.clear();  // before `admission`
}

TEST_F(AdmissionTest, HostWithMostConnectionsYieldsPlacesToOthers) {
  std::uint64_t const few = admit("host a");
  fill("host b", 16);
  fill("host c", 15);
  std::uint64_t const newcomer = admit("host d");
  EXPECT_FALSE(has(few + 1)) << "the oldest one of host b";
  EXPECT_TRUE(has(few) && has(few + 2) && has(newcomer));
  EXPECT_EQ(admission_.count(), 32u);
  // Hosts b and c now have equally many connections: the oldest of both hosts is evicted.
  admit("host d");
  EXPECT_FALSE(has(few + 2));
}

TEST_F(AdmissionTest, UsersReplaceUnauthenticatedConnections) {
  for (std::size_t i = 0; i < 32; ++i) admit("host " + std::to_string(i));
  for (std::size_t i = 0; i < 56; ++i) admit("user " + std::to_string(i), Standing::user);
  EXPECT_EQ(admission_.count(), 56u) << "a part is for owners and administrators";
  EXPECT_EQ(refusal([&] { admit("user x", Standing::user); }), ErrorCode::quota);
  EXPECT_EQ(refusal([&] { admit("host x"); }), ErrorCode::quota);
  EXPECT_EQ(refusal([&] { admit("user y", Standing::owner); }), std::nullopt);
}

TEST_F(AdmissionTest, OwnersCannotTakeAllPlacesOfUsers) {
  std::uint64_t const oldest = admit("user 1", Standing::owner);
  for (std::size_t i = 1; i < 32; ++i) admit("user 1", Standing::owner);
  EXPECT_EQ(refusal([&] { admit("user 1", Standing::owner); }), ErrorCode::quota);
  for (std::size_t i = 0; i < 16; ++i) admit("user 2", Standing::owner);
  EXPECT_TRUE(has(oldest));
  // All places are taken: the user with the most loses the oldest connections.
  for (std::size_t i = 0; i < 8; ++i) admit("user 2", Standing::owner);
  EXPECT_FALSE(has(oldest) || has(oldest + 7));
  EXPECT_TRUE(has(oldest + 8));
  EXPECT_EQ(admission_.count(), 48u);
  EXPECT_EQ(refusal([&] { admit("user 2", Standing::owner); }), ErrorCode::quota) << "both have as many";
  EXPECT_EQ(refusal([&] { admit("user 3", Standing::owner); }), std::nullopt);
  EXPECT_FALSE(has(oldest + 8));
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(refusal([&] { admit("user 4", Standing::user); }), std::nullopt);
  held_.clear();
  EXPECT_EQ(refusal([&] { admit("user 2", Standing::owner); }), std::nullopt);
}

/// Eight users who have as many connections as they may have leave places to a ninth, to hosts, and to
/// administrators.
TEST_F(AdmissionTest, ColludingUsersCannotTakeAllPlaces) {
  for (std::size_t user = 0; user < 8; ++user) {
    Standing const standing = user % 2 == 0 ? Standing::owner : Standing::user;
    for (std::size_t i = 0; i < 32; ++i)
      (void)refusal([&] { admit("colluder " + std::to_string(user), standing); });
  }
  std::size_t const all = admission_.count();
  EXPECT_GE(all, 56u);
  std::vector<std::uint64_t> const admitted{admit("host a"),
                                            admit("host b"),
                                            admit("owner", Standing::owner),
                                            admit("owner", Standing::owner),
                                            admit("user", Standing::user),
                                            admit("root", Standing::administrator)};
  for (std::uint64_t const each : admitted) EXPECT_TRUE(has(each)) << each;
  EXPECT_LE(admission_.count(), 64u);
  // A user who has more than the others takes nothing from them.
  EXPECT_EQ(refusal([&] {
              for (int i = 0; i < 8; ++i) admit("user", Standing::user);
            }),
            ErrorCode::quota);
  EXPECT_TRUE(has(admitted[2]) && has(admitted[3]));
}

TEST_F(AdmissionTest, AuthenticationReleasesPlaceOfTheHost) {
  fill("host a", 15);
  std::uint64_t const connection = admit("host a");
  held_[connection] = admission_.admit({"user 1", Standing::user, connection}, std::move(held_[connection]));
  EXPECT_EQ(admission_.count(), 16u);
  admit("host a");
  EXPECT_EQ(admission_.count(), 17u) << "nobody had to go";
  held_.clear();
  EXPECT_EQ(admission_.count(), 0u);
}

/// With few places, some are reserved for unauthenticated connections: on a host that connects fast, a user
/// gets a place only when one becomes free.
TEST(AdmissionReserve, ReservePlacesForUnauthenticatedConnections) {
  std::map<std::uint64_t, Admission::Place> held;
  Admission admission(
      16, [&](std::uint64_t connection) { held.erase(connection); }, std::chrono::hours(1), 64);
  std::uint64_t next = 1;
  auto const refused = [&](std::string const& peer, Standing standing) {
    return refusal([&] {
      held[next] = admission.admit({peer, standing, next});
      ++next;
    });
  };
  auto const flood = [&] {
    for (int i = 0; i < 33; ++i) (void)refused("host a", Standing::unauthenticated);
    for (int i = 0; i < 33; ++i) (void)refused("host b", Standing::unauthenticated);
  };
  flood();
  EXPECT_EQ(admission.count(), 64u);
  EXPECT_EQ(refused("host a", Standing::unauthenticated), ErrorCode::quota);
  EXPECT_EQ(refused("host c", Standing::unauthenticated), std::nullopt);
  // The limit for users is the same as without the flood, and users yield places to each other.
  std::uint64_t const first = next;
  for (int i = 0; i < 4; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      EXPECT_EQ(refused("user " + std::to_string(i), Standing::user), std::nullopt);
      flood();
    }
  }
  EXPECT_EQ(refused("user 5", Standing::user), std::nullopt);
  EXPECT_FALSE(held.contains(first)) << "the oldest one of the users who had two";
  flood();
  EXPECT_EQ(refused("user 1", Standing::user), ErrorCode::quota);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(refused("root", Standing::administrator), std::nullopt);
  EXPECT_LE(admission.count(), 64u + 16u);
  held.clear();  // before `admission`
}

FileDescriptor connect_from(std::string const& source, std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, source.c_str(), &address.sin_addr);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

TEST(Hosts, LoopbackAddressesCountAsOneHost) {
  for (char const* const endpoint : {"127.0.0.1:0", "::1:0"}) {
    FileDescriptor listener;
    if (refusal([&] { listener = listen_tcp(endpoint); })) continue;  // without IPv6
    std::string const host = std::string(endpoint).substr(0, std::string(endpoint).rfind(':'));
    FileDescriptor const client = connect_tcp(host, port_of(listener), 5000);
    ASSERT_TRUE(client);
    EXPECT_EQ(host_of_peer(accept_from(listener)), "this host") << endpoint;
  }
  FileDescriptor const listener = listen_tcp("127.0.0.1:0");
  for (char const* const source : {"127.0.0.2", "127.3.4.5"}) {
    FileDescriptor const client = connect_from(source, port_of(listener));
    EXPECT_EQ(host_of_peer(accept_from(listener)), "this host") << source;
  }
}

class SilentHosts : public ::testing::Test {
 protected:
  void start(std::string const& connections = "256") {
    start_with_descriptors(
        server_, {"--size", "64M", "--listen", "127.0.0.1:0", "--max-connections", connections}, 1024, 1024);
    files_.emplace(server_);
    grant_ = server_.grant(1u << 20);
    over_tcp_ = grant_.address;
    over_tcp_.unix_path.clear();
  }
  /// Makes `count` connections from fifty addresses.
  std::vector<FileDescriptor> silent(int count) const {
    std::vector<FileDescriptor> made;
    for (int i = 0; i < count; ++i)
      made.push_back(connect_from("127.0.0." + std::to_string(1 + i % 50), over_tcp_.port));
    return made;
  }
  bool is_admin_over_tcp() const { return Client(over_tcp_).request({{"op", "usage"}}).contains("capacity"); }

  TestServer server_;
  std::optional<ClientFiles> files_;
  Locator grant_;
  Address over_tcp_;
};

TEST_F(SilentHosts, DoNotPreventLogins) {
  start();
  for (int round = 0; round < 3; ++round) {
    std::vector<FileDescriptor> const attack = silent(500);
    EXPECT_EQ(refusal([&] { EXPECT_TRUE(is_admin_over_tcp()); }), std::nullopt);
    EXPECT_TRUE(server_.ask({{"op", "usage"}}).contains("capacity"));
    if (is_root()) {
      EXPECT_TRUE(as_user(64002, [&] { return server_.ask({{"op", "names"}}).contains("names"); }));
    }
    expect_pattern(make_persistent(grant_, 100, 1).port, 100, 1);
  }
}

TEST_F(SilentHosts, DoNotExhaustServerForFewConnections) {
  start("16");
  std::vector<FileDescriptor> const attack = silent(20);
  Channel channel(connect_tcp("127.0.0.1", over_tcp_.port, 5000), {});
  channel.post(ClientHandshake().hello(std::nullopt));
  auto const answer = await_message(channel);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->head.contains("key")) << answer->head;
}

}  // namespace
}  // namespace mpixrma::nam
