/// Attacks by a host on the network with the secret of a user, or in place of the server.
#include "tests/nam/attacks/network.hpp"

namespace mpixrma::nam {
namespace {

/// A connection that is authenticated has given up its place among the host's; if it stayed without a place
/// among the user's, it would count for nobody.
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

TEST_F(Network, UnprivilegedUserCannotAccessOthersObjects) {
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

/// Each session of the owner of a small grant may send a large request, but all together must not take the
/// memory of the host.
TEST_F(Network, UnfinishedRequestsOfSessionsTakeBoundedMemory) {
  start();
  Locator const grant = server_.grant(4096, {{"owner", std::to_string(tcp_user)}});
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
TEST_F(Network, ClientBoundsDataOfUnauthenticatedServer) {
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
