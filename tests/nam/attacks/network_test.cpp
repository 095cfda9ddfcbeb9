/// Attacks by a host on the network, with and without the secret of a user.
#include <sys/inotify.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <functional>

#include "nam/client/secrets.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// The system must know a user who connects over TCP.
constexpr uid_t poor = nobody;

using Bytes = std::vector<std::byte>;

void send_all(FileDescriptor const& socket, Bytes const& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    ssize_t const now = ::send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EAGAIN) {
      pollfd entry{socket.get(), POLLOUT, 0};
      if (::poll(&entry, 1, 1000) != 1) return;
      continue;
    }
    if (now <= 0) return;
    sent += static_cast<std::size_t>(now);
  }
}

/// Returns a message in its wire format, with `sent` bytes of the head.
Bytes message(std::string const& head, std::uint32_t head_bytes, std::uint32_t data_bytes = 0) {
  std::uint32_t const header[4] = {0x316d616e, head_bytes, data_bytes, 0};
  Bytes bytes(sizeof header + head.size());
  std::memcpy(bytes.data(), header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, head.data(), head.size());
  return bytes;
}
Bytes message(Json const& head) {
  std::string const text = head.dump();
  return message(text, static_cast<std::uint32_t>(text.size()));
}

/// Whether the other end closes, regardless of earlier messages.
bool is_closed(FileDescriptor const& socket) {
  char bytes[4096];
  for (;;) {
    pollfd entry{socket.get(), POLLIN, 0};
    if (::poll(&entry, 1, 20000) != 1) return false;
    ssize_t const got = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
  }
}

/// One side of a session, which also seals invalid messages.
struct Peer {
  FileDescriptor socket;
  SecuredSession session;
  SecureStream stream{SessionKeys{}};

  Bytes sealed(Bytes const& plain) {
    Bytes records;
    stream.seal(plain, &records);
    return records;
  }
};

class Network : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
  }
  void start(TestServer::Arguments const& more = {}, rlim_t descriptors = 4096) {
    TestServer::Arguments arguments{"--size", "256M", "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    start_with_descriptors(server_, arguments, descriptors, descriptors);
    ASSERT_TRUE(as_user(poor, [&] { return server_.ask({{"op", "secret"}}).contains("secret"); }));
    secret_ = *read_secret(server_.state / "secrets" / std::to_string(poor));
    address_ = server_.grant(4096).address;
    address_.unix_path.clear();
  }
  Channel connection() const { return {connect_tcp(address_.host, address_.port, 5000), {}}; }

  /// Completes the first two messages of the handshake.
  Peer begin() const {
    Channel channel = connection();
    ClientHandshake const handshake;
    channel.post(handshake.hello(std::nullopt));
    auto const answer = await_message(channel);
    if (!answer) throw Error(ErrorCode::unavailable, "no answer");
    SecuredSession const session = handshake.finish(answer->head, [](PublicKey const&) {});
    return {channel.release(), session, SecureStream(session.keys)};
  }
  Json proof(Peer const& peer, Prover prover = Prover::client, std::string const& user = "nobody") const {
    return {{"op", "prove"},
            {"user", user},
            {"proof", make_proof(secret_, prover, user, peer.session.transcript)}};
  }
  /// Returns a connection of the poor user, and the server's answer to the proof.
  std::pair<Channel, Json> authenticated() const {
    Peer peer = begin();
    Channel channel(std::move(peer.socket), {});
    channel.protect(std::move(peer.stream));
    channel.post(proof(peer));
    auto const answer = await_message(channel);
    return {std::move(channel), answer ? answer->head : Json()};
  }
  /// Authenticates, and has the connection handed over to the data process by `request`.
  Channel session(Json const& request) const {
    auto [channel, answer] = authenticated();
    EXPECT_TRUE(answer.contains("admin")) << answer;
    channel.post(request);
    auto const opened = await_message(channel);
    EXPECT_TRUE(opened && !opened->head.contains("error")) << (opened ? opened->head : Json());
    return std::move(channel);
  }

  TestServer server_;
  UserSecret secret_{};  ///< of the poor user
  Address address_;
};

/// A connection that has used up its place as unauthenticated, and gets none as a user's, would count for
/// nobody.
TEST_F(Network, ConnectionsBeyondTheShareOfAUserEnd) {
  start({"--max-connections", "64"}, 128);
  std::vector<Channel> open;
  int refused = 0;
  for (int i = 0; i < 150; ++i) {
    auto [channel, answer] = authenticated();
    if (answer.contains("admin")) {
      open.push_back(std::move(channel));
    } else {
      EXPECT_EQ(answer.value("error", ""), "quota") << answer;
      EXPECT_TRUE(is_closed(channel.socket())) << i;
      ++refused;
      if (testing::Test::HasFailure()) break;
    }
  }
  EXPECT_EQ(open.size(), 8u);
  EXPECT_EQ(refused, 142);
  EXPECT_TRUE(server_.answers());
}

TEST_F(Network, HandshakesThatAreNoneEndTheConnection) {
  start();
  std::string const key = to_text(KeyPair::make().public_key);
  std::string const zero = to_text(PublicKey{});
  PublicKey one{};
  one[0] = 1;
  for (Json const& hello :
       {Json{{"op", "hello"}}, Json{{"op", "hello"}, {"version", 1}, {"ephemeral", key}},
        Json{{"op", "hello"}, {"version", 3}, {"ephemeral", key}},
        Json{{"op", "hello"}, {"version", -2}, {"ephemeral", key}}, Json{{"op", "hello"}, {"version", 2}},
        Json{{"op", "hello"}, {"version", 2}, {"ephemeral", 7}},
        Json{{"op", "hello"}, {"version", 2}, {"ephemeral", zero}},
        Json{{"op", "hello"}, {"version", 2}, {"ephemeral", to_text(one)}},
        Json{{"op", "hello"}, {"version", 2}, {"ephemeral", key}, {"expected", "x"}}, Json{{"op", "list"}},
        Json{{"op", "prove"}, {"user", "root"}, {"proof", ""}}, Json::array({1, 2}),
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

/// Records out of order, before and after the user is authenticated.
TEST_F(Network, RecordsThatAreNotTheNextOnesEndTheConnection) {
  start();
  auto const length = [](std::uint32_t value) {
    Bytes bytes(4 + 64);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  using Attack = std::function<Bytes(Peer&)>;
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
  for (auto const& [what, attack] : attacks) {
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
  EXPECT_TRUE(server_.answers());
}

TEST_F(Network, ProofsThatAreNotThisUsersAdmitNobody) {
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
  EXPECT_EQ(answer_to([](Peer const&) { return Json{{"op", "hello"}, {"version", 2}}; }), "malformed");
}

TEST_F(Network, SecretsOfUsersLastBeyondARestart) {
  start();
  server_.stop();
  server_.start({"--size", "256M", "--listen", "127.0.0.1:0"});
  address_ = server_.grant(4096).address;
  address_.unix_path.clear();
  auto const [channel, answer] = authenticated();
  EXPECT_EQ(answer.value("user", ""), "nobody") << answer;
}

/// Which may be on the network, and slow. Other processes of the system read the file now and then.
TEST_F(Network, FailedProofsCauseNoQueryOfTheUserDatabase) {
  start();
  FileDescriptor const watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (::inotify_add_watch(watch.get(), "/etc/passwd", IN_OPEN) < 0) GTEST_SKIP() << "has no /etc/passwd";
  constexpr int attempts = 50;
  int read = 0;
  for (int i = 0; i < attempts; ++i) {
    Peer peer = begin();
    Channel channel(std::move(peer.socket), {});
    channel.protect(std::move(peer.stream));
    channel.post(proof(peer, Prover::client, "user" + std::to_string(i)));
    auto const answer = await_message(channel);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->head.value("error", ""), "denied");
    char events[4096];
    if (::read(watch.get(), events, sizeof events) > 0) ++read;
  }
  EXPECT_LT(read, attempts / 2);
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

TEST_F(Network, PoorUserReachesNothingOfOthers) {
  start();
  Locator const grant = server_.grant(1u << 20);
  WindowInfo const window = make_persistent(grant, 100, 1);
  auto [channel, answer] = authenticated();
  EXPECT_FALSE(answer.at("admin").get<bool>());
  std::vector<std::pair<Json, char const*>> const requests{
      {{{"op", "open"}, {"grant", grant.grant}}, "not_found"},
      {{{"op", "show"}, {"grant", grant.grant}}, "not_found"},
      {{{"op", "connect"}, {"port", window.port}}, "not_found"},
      {{{"op", "evict"}, {"port", window.port}}, "not_found"},
      {{{"op", "chmod"}, {"port", window.port}, {"mode", 0666}}, "not_found"},
      {{{"op", "secret"}}, "denied"},
      {{{"op", "rotate_key"}, {"overlap", 0}}, "denied"},
      {{{"op", "grant"}, {"bytes", 4096}}, "denied"}};
  for (auto const& [request, code] : requests) {
    channel.post(request);
    auto const refused = await_message(channel);
    ASSERT_TRUE(refused) << request;
    EXPECT_EQ(refused->head.value("error", ""), code) << request;
  }
}

/// Sends all data of a client a second time.
TEST_F(Network, ReplayedSessionAdmitsNobody) {
  start();
  Bytes recorded;
  std::mutex lock;
  {
    Eavesdropper between(address_, [&](bool from_client, std::vector<char>& bytes) {
      std::lock_guard const held(lock);
      auto const* const begin = reinterpret_cast<std::byte const*>(bytes.data());
      if (from_client) recorded.insert(recorded.end(), begin, begin + bytes.size());
    });
    tell_secret(between.address(), secret_);
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

/// The owner of a small grant: each session may have a large request, but all together not the memory of the
/// host.
TEST_F(Network, UnfinishedRequestsOfSessionsTakeBoundedMemory) {
  start();
  Locator const grant = server_.grant(4096, {{"owner", std::to_string(poor)}});
  Channel const first = session({{"op", "open"}, {"grant", grant.grant}});
  pid_t const process = server_.data_process(grant);
  std::size_t const before = resident_bytes(process);
  std::vector<Peer> peers;
  for (int i = 0; i < 28; ++i) {
    peers.push_back(begin());
    Peer& peer = peers.back();
    send_all(peer.socket, peer.sealed(message(proof(peer))));
    pollfd entry{peer.socket.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 20000), 1);
    send_all(peer.socket, peer.sealed(message(Json{{"op", "open"}, {"grant", grant.grant}})));
    Bytes const large = message(std::string(8u << 20, ' '), 8u << 20, 1u << 20);
    send_all(peer.socket, peer.sealed(large));
  }
  EXPECT_LT(resident_bytes(process), before + (170u << 20));
  EXPECT_TRUE(server_.answers());
}

/// Texts of a fake server cannot control the terminal.
TEST_F(Network, TextsOfServersArePrintable) {
  try {
    throw_if_refused({{"error", "denied"}, {"text", "\x1b]0;title\a"}});
    ADD_FAILURE();
  } catch (Error const& error) {
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
  }
}

/// A fake server that answers in place of the server, and announces a large message.
TEST_F(Network, ClientKeepsLittleOfAServerThatHasShownNothing) {
  start();
  FileDescriptor const listener = listen_tcp("127.0.0.1:0");
  std::thread fake([&] {
    pollfd entry{listener.get(), POLLIN, 0};
    if (::poll(&entry, 1, 20000) != 1) return;
    FileDescriptor const client = accept_from(listener);
    send_all(client, message("{", 32u << 20));
    (void)is_closed(client);
  });
  EXPECT_EQ(refusal([&] {
              Client({"", "127.0.0.1", port_of(listener), address_.key}, 10000);
            }),
            ErrorCode::malformed);
  fake.join();
}

}  // namespace
}  // namespace mpixrma::nam
