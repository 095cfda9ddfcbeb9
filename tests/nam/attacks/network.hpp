/// Connections over TCP that keep to the protocol as far as a test wants.
#pragma once

#include <cstring>

#include "nam/client/secrets.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {

/// The system must know a user who connects over TCP.
inline constexpr uid_t tcp_user = nobody;

using Bytes = std::vector<std::byte>;

inline void send_all(FileDescriptor const& socket, Bytes const& bytes) {
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

/// Returns a message in its wire format. Its header announces `head_bytes` and `data_bytes`, which may be
/// wrong.
inline Bytes message(std::string const& head, std::uint32_t head_bytes, std::uint32_t data_bytes = 0) {
  std::uint32_t const header[4] = {0x316d616e, head_bytes, data_bytes, 0};
  Bytes bytes(sizeof header + head.size());
  std::memcpy(bytes.data(), header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, head.data(), head.size());
  return bytes;
}
inline Bytes message(Json const& head) {
  std::string const text = head.dump();
  return message(text, static_cast<std::uint32_t>(text.size()));
}

/// Waits for the other end to close, and ignores messages before. Returns false if it does not close.
inline bool is_closed(FileDescriptor const& socket) {
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
  void start(
      TestServer::Arguments const& more = {}, rlim_t descriptors = 4096,
      std::function<void()> const& before = [] {}) {
    TestServer::Arguments arguments{"--size", "256M", "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    start_with_descriptors(server_, arguments, descriptors, descriptors, before);
    ASSERT_TRUE(as_user(tcp_user, [&] { return server_.ask({{"op", "secret"}}).contains("secret"); }));
    secret_ = *read_secret(server_.state / "secrets" / std::to_string(tcp_user));
    address_ = server_.grant(4096).address;
    address_.unix_path.clear();
  }
  Channel connection() const { return {connect_tcp(address_.host, address_.port, 5000), {}}; }

  /// Exchanges the first two messages of the handshake.
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
  /// Returns a connection of the tcp_user user, and the server's answer to the proof.
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
  UserSecret secret_{};  ///< of the tcp_user user
  Address address_;
};

}  // namespace mpixrma::nam
