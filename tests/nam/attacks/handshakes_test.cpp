/// Attacks on the handshake of connections over TCP, and on what follows it, with and without the secret of a
/// user.
#include <sys/inotify.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "nam/protocol/handshake.hpp"
#include "tests/nam/attacks/bind_mount.hpp"
#include "tests/nam/attacks/network.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

TEST_F(Network, MalformedHandshakesEndTheConnection) {
  start();
  std::string const key = to_text(KeyPair::make().public_key);
  std::string const zero = to_text(PublicKey{});
  PublicKey one{};
  one[0] = 1;
  for (Json const& hello :
       {Json{{"op", "hello"}}, Json{{"op", "hello"}, {"version", 1}, {"ephemeral", key}},
        Json{{"op", "hello"}, {"version", protocol_version + 1}, {"ephemeral", key}},
        Json{{"op", "hello"}, {"version", -2}, {"ephemeral", key}},
        Json{{"op", "hello"}, {"version", protocol_version}},
        Json{{"op", "hello"}, {"version", protocol_version}, {"ephemeral", 7}},
        Json{{"op", "hello"}, {"version", protocol_version}, {"ephemeral", zero}},
        Json{{"op", "hello"}, {"version", protocol_version}, {"ephemeral", to_text(one)}},
        Json{{"op", "hello"}, {"version", protocol_version}, {"ephemeral", key}, {"expected", "x"}},
        Json{{"op", "list"}}, Json{{"op", "prove"}, {"user", "root"}, {"proof", ""}}, Json::array({1, 2}),
        Json{{"op", Json::object()}}}) {
    Channel const channel = connection();
    send_all(channel.socket(), message(hello));
    EXPECT_TRUE(is_closed(channel.socket())) << hello;
  }
  for (Bytes const& raw : {message("", 4097), message("", 0xffffffff), message("{}", 2, 1), Bytes(64),
                           message(std::string(4000, '['), 4000), message("{\"op\":\"\xff\"}", 10)}) {
    Channel const channel = connection();
    send_all(channel.socket(), raw);
    EXPECT_TRUE(is_closed(channel.socket()));
  }
  EXPECT_TRUE(server_.answers());
}

/// Cuts each message that a client sends before it is authenticated.
TEST_F(Network, HandshakesCutAtAnyByteEndTheConnection) {
  start();
  std::size_t const length = message(ClientHandshake().hello(std::nullopt)).size();
  for (std::size_t bytes = 0; bytes < length; ++bytes) {
    Channel const channel = connection();
    Bytes hello = message(ClientHandshake().hello(std::nullopt));
    hello.resize(bytes);
    send_all(channel.socket(), hello);
    ASSERT_EQ(::shutdown(channel.descriptor(), SHUT_WR), 0);
    EXPECT_TRUE(is_closed(channel.socket())) << "a hello of " << bytes << " bytes";
  }
  for (std::size_t bytes = 0, whole = 1; bytes < whole; ++bytes) {
    Peer peer = begin();
    Bytes proven = peer.sealed(message(proof(peer)));
    whole = proven.size();
    proven.resize(bytes);
    send_all(peer.socket, proven);
    ASSERT_EQ(::shutdown(peer.socket.get(), SHUT_WR), 0);
    EXPECT_TRUE(is_closed(peer.socket)) << "a proof of " << bytes << " bytes";
  }
  EXPECT_TRUE(server_.answers());
}

TEST_F(Network, ProofWithAnyChangedByteIsRejected) {
  start();
  std::mt19937_64 random(test::seed());
  for (std::size_t at = 0, whole = 1; at < whole; ++at) {
    Peer peer = begin();
    Bytes proven = peer.sealed(message(proof(peer)));
    whole = proven.size();
    proven[at] ^= std::byte{1} << random() % 8;
    send_all(peer.socket, proven);
    ASSERT_EQ(::shutdown(peer.socket.get(), SHUT_WR), 0);
    Channel channel(std::move(peer.socket), {});
    channel.protect(std::move(peer.stream));
    auto const answer = await_message(channel);
    EXPECT_TRUE(!answer || answer->head.contains("error")) << at << ": " << answer->head;
  }
  EXPECT_TRUE(authenticated().second.contains("admin"));
}

class InvalidRecords : public Network {
 protected:
  using Attack = std::function<Bytes(Peer&)>;

  /// Expects what the attack returns to end a connection before and after the user is authenticated.
  void expect_end(char const* what, Attack const& attack) const {
    for (bool const known : {false, true}) {
      Peer peer = begin();
      Bytes first = known ? peer.sealed(message(proof(peer))) : Bytes();
      send_all(peer.socket, first);
      if (known) {
        pollfd entry{peer.socket.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&entry, 1, 20000), 1);
      }
      Bytes bytes = attack(peer);
      // A new stream begins with 24 bytes, which may have any value.
      if (!known && bytes.size() < 4096) bytes.insert(bytes.begin(), 24, std::byte{1});
      send_all(peer.socket, bytes);
      EXPECT_TRUE(is_closed(peer.socket)) << what << (known ? " of a user" : "");
    }
  }
};

/// Malformed, repeated, missing and foreign records, and records out of order.
TEST_F(InvalidRecords, EndTheConnection) {
  start();
  auto const length = [](std::uint32_t value) {
    Bytes bytes(4 + 64);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  std::vector<std::pair<char const*, Attack>> const attacks{
      {"zeros", [](Peer&) { return Bytes(4096); }},
      {"an unencrypted request",
       [](Peer&) {
         return message(Json{{"op", "list"}, {"pad", std::string(64, ' ')}});
       }},
      {"no length", [&](Peer&) { return length(0); }},
      {"an empty record", [&](Peer&) { return length(17); }},
      {"a long record", [&](Peer&) { return length(16384 + 18); }},
      {"the longest record", [&](Peer&) { return length(0xffffffff); }},
      {"a record twice",
       [](Peer& peer) {
         Bytes const once = peer.sealed(message(Json{{"op", "names"}}));
         Bytes twice = once;
         twice.insert(twice.end(), once.begin(), once.end());
         return twice;
       }},
      {"records in another order",
       [](Peer& peer) {
         Bytes const first = peer.sealed(message(Json{{"op", "names"}}));
         Bytes second = peer.sealed(message(Json{{"op", "names"}}));
         second.insert(second.end(), first.begin(), first.end());
         return second;
       }},
      {"a record is missing",
       [](Peer& peer) {
         (void)peer.sealed(message(Json{{"op", "names"}}));
         return peer.sealed(message(Json{{"op", "names"}}));
       }},
      {"another session's record",
       [this](Peer&) {
         Peer other = begin();
         (void)other.sealed(message(proof(other)));
         return other.sealed(message(Json{{"op", "names"}}));
       }},
  };
  for (auto const& [what, attack] : attacks) expect_end(what, attack);
  EXPECT_TRUE(server_.answers());
}

TEST_F(Network, ProofsOfAnotherUserAreRejected) {
  start();
  auto const answer_to = [&](std::function<Json(Peer const&)> const& made) {
    Peer peer = begin();
    Json const request = made(peer);
    Channel channel(std::move(peer.socket), {});
    channel.protect(std::move(peer.stream));
    channel.post(request);
    auto const answer = await_message(channel);
    if (!answer) return std::string("nothing");
    if (!answer->head.contains("error")) return std::string("admitted");
    // Neither a second proof nor a request is accepted afterwards.
    channel.post(proof(peer));
    auto const second = await_message(channel);
    return second && !second->head.contains("error") ? std::string("admitted")
                                                     : answer->head.at("error").get<std::string>();
  };
  EXPECT_EQ(answer_to([&](Peer const& peer) { return proof(peer, Prover::server); }), "denied");
  EXPECT_EQ(answer_to([&](Peer const& peer) { return proof(peer, Prover::client, "root"); }), "denied");
  EXPECT_EQ(answer_to([&](Peer const& peer) { return proof(peer, Prover::client, "0"); }), "denied");
  EXPECT_EQ(answer_to([&](Peer const& peer) { return proof(peer, Prover::client, "64002"); }), "denied");
  EXPECT_EQ(answer_to([&](Peer const& peer) { return proof(peer, Prover::client, "../../etc/passwd"); }),
            "denied");
  EXPECT_EQ(answer_to([&](Peer const&) { return proof(begin()); }), "denied") << "another session's proof";
  EXPECT_EQ(answer_to([](Peer const&) { return Json{{"op", "list"}}; }), "malformed");
  EXPECT_EQ(answer_to([](Peer const&) {
              return Json{{"op", "hello"}, {"version", protocol_version}};
            }),
            "malformed");
}

/// From another error an unauthenticated peer would learn that the user has a secret, and the path of the
/// server's directory.
TEST_F(Network, UnusableSecretIsReportedLikeWrongSecret) {
  start();
  std::filesystem::path const file = server_.state / "secrets" / std::to_string(tcp_user);
  auto const answer = [&] {
    auto const [channel, refused] = authenticated();
    return refused;
  };
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  Json const readable = answer();
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  std::filesystem::resize_file(file, 10);
  Json const cut = answer();
  std::filesystem::remove(file);
  Json const absent = answer();
  EXPECT_EQ(absent.value("error", ""), "denied") << absent;
  EXPECT_EQ(readable, absent);
  EXPECT_EQ(cut, absent);
}

TEST_F(Network, SecretsOfUsersSurviveRestart) {
  start();
  server_.stop();
  server_.start({"--size", "256M", "--listen", "127.0.0.1:0"});
  address_ = server_.grant(4096).address;
  address_.unix_path.clear();
  auto const [channel, answer] = authenticated();
  EXPECT_EQ(answer.value("user", ""), "nobody") << answer;
}

/// A copy of the user database that only the processes of one server see, in a mount namespace: other
/// programs of the system read the original at any time.
class OwnUserDatabase {
 public:
  explicit OwnUserDatabase(std::filesystem::path copy)
      : copy_(std::move(copy)), watch_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    std::error_code error;
    std::filesystem::copy_file(original, copy_, error);
    std::filesystem::permissions(copy_, std::filesystem::perms(0644), error);
    (void)::inotify_add_watch(watch_.get(), copy_.c_str(), IN_OPEN);
  }
  /// Called in the process of the server. Returns false if the system does not permit it.
  bool mount() const { return show_in_place_of(original, copy_); }
  /// Returns whether the copy was opened since the last call.
  bool was_opened() const {
    char events[4096];
    bool opened = false;
    while (::read(watch_.get(), events, sizeof events) > 0) opened = true;
    return opened;
  }

 private:
  static constexpr char const* original = "/etc/passwd";
  std::filesystem::path copy_;
  FileDescriptor watch_;
};

/// The database may be on the network, and slow.
TEST_F(Network, FailedProofsCauseNoQueryOfTheUserDatabase) {
  OwnUserDatabase const users(server_.directory() / "passwd");
  if (!as_user(0, [&] { return users.mount(); })) GTEST_SKIP() << "needs mount namespaces";
  start({}, 4096, [&] { (void)users.mount(); });
  (void)users.was_opened();
  EXPECT_TRUE(authenticated().second.contains("admin"));
  if (!users.was_opened()) GTEST_SKIP() << "the user database is not a file";
  for (int i = 0; i < 50; ++i) {
    Peer peer = begin();
    Channel channel(std::move(peer.socket), {});
    channel.protect(std::move(peer.stream));
    channel.post(proof(peer, Prover::client, "user" + std::to_string(i)));
    auto const answer = await_message(channel);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->head.value("error", ""), "denied");
    EXPECT_FALSE(users.was_opened()) << i;
  }
}

/// The secret of a user who has one is read from a file, which takes time.
TEST_F(Network, TimeOfFailedProofDoesNotRevealUsersWithSecret) {
  constexpr std::chrono::milliseconds least{10};
  start();
  secret_ = random_secret();
  for (std::string const user : {"nobody", "root", "absent"}) {
    Peer peer = begin();
    Channel channel(std::move(peer.socket), {});
    channel.protect(std::move(peer.stream));
    auto const begin = std::chrono::steady_clock::now();
    channel.post(proof(peer, Prover::client, user));
    auto const answer = await_message(channel);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, least) << user << " is answered without a delay";
    ASSERT_TRUE(answer) << user;
    EXPECT_EQ(answer->head.value("error", ""), "denied") << user;
    EXPECT_TRUE(is_closed(channel.socket())) << user;
  }
}

TEST_F(Network, FailedProofEndsTheConnection) {
  start();
  Peer peer = begin();
  Channel channel(std::move(peer.socket), {});
  channel.protect(std::move(peer.stream));
  channel.post(proof(peer, Prover::server));
  auto const answer = await_message(channel);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.value("error", ""), "denied");
  ClientHandshake const handshake;
  channel.post(handshake.hello(std::nullopt));
  EXPECT_FALSE(await_message(channel)) << "a second handshake";
  EXPECT_TRUE(is_closed(channel.socket()));
}

/// Sends all data of a client a second time.
TEST_F(Network, ReplayedSessionIsRejected) {
  start();
  Bytes recorded;
  std::mutex lock;
  {
    TcpProxy between(address_, [&](bool from_client, std::vector<char>& bytes) {
      std::lock_guard const held(lock);
      auto const* const begin = reinterpret_cast<std::byte const*>(bytes.data());
      if (from_client) recorded.insert(recorded.end(), begin, begin + bytes.size());
    });
    set_secret(between.address(), secret_);
    ::setenv("MPIX_NAM_USER", "nobody", 1);
    EXPECT_TRUE(Client(between.address()).request({{"op", "names"}}).contains("names"));
    ::unsetenv("MPIX_NAM_USER");
  }
  Channel channel = connection();
  send_all(channel.socket(), recorded);
  Bytes answer;
  char bytes[4096];
  for (ssize_t got = 1; got != 0;) {
    pollfd entry{channel.descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 20000), 1);
    got = ::recv(channel.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0) break;
    answer.insert(answer.end(), reinterpret_cast<std::byte*>(bytes),
                  reinterpret_cast<std::byte*>(bytes) + got);
  }
  EXPECT_LT(answer.size(), 700u) << "the answer to the hello, and an error";
}

}  // namespace
}  // namespace mpixrma::nam
