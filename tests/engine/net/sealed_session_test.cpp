/// An engine that encrypts, and clients on whose connections messages are modified, repeated and forged: only
/// the affected session ends.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "engine/net/seal.hpp"
#include "tests/support/session_client.hpp"
#include "tests/support/session_engine.hpp"

namespace mpixrma::engine {
namespace {

using test::Identity;
using test::Rogue;
using test::SessionEngine;
using test::Text;

constexpr std::uint64_t untouched = SessionEngine::untouched;

class Server : public SessionEngine {
 public:
  explicit Server(bool encrypt = true)
      : SessionEngine([=](mpix_engine_config& config) { config.encrypt = encrypt ? 1 : 0; }) {}

  bool is_lost(Session const& session) { return end_of(session) == MPIX_ENGINE_SESSION_CONNECTION_LOST; }
};

/// A client without an engine, which encrypts its messages itself.
class Client {
 public:
  Client(Server& server, Server::Session session, std::uint64_t connection = 1)
      : server_(server),
        session_(std::move(session)),
        rogue_(session_.target.address.workers.front(), Rogue::Way::loopback) {
    Identity const self = test::identity_at(session_.target, rogue_, 0x77);
    opening_ = self.opening_to(session_.target, connection);
    handshake_ =
        test::handshake_message(make_handshake(session_.target.secret, opening_, encode(self.address)));
    send(wire::MessageClass::request, handshake_);
    sealer_ = std::make_unique<Sealer>(seal_keys_of(session_.target.secret, opening_).requests);
  }

  /// Returns an unencrypted put of `value` to the word.
  Text put(std::size_t index, std::uint64_t value) {
    auto const tokens = tokens_of(session_.target.secret, opening_);
    auto header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::put);
    header.session = tokens.request;
    header.sequence = ++sequence_;
    header.address = 8 * index;
    header.exposure = server_.exposure;
    header.block = header.bytes = header.total = sizeof value;
    return {test::bytes_of(header), test::bytes_of(value)};
  }
  /// Returns the notice that this client has refused a message.
  Text refusal() const {
    auto header = wire::begin_header<wire::DisconnectHeader>(wire::Disconnect::message_rejected);
    header.session = tokens_of(session_.target.secret, opening_).request;
    header.connection = 1;
    return {test::bytes_of(header), {}};
  }
  Text sealed(Text text, wire::MessageClass kind = wire::MessageClass::request) {
    std::array<std::byte, wire::max_sealed_header_bytes> out;
    std::size_t const bytes = sealer_->seal(kind, text.header, text.payload, out);
    text.header.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes));
    return text;
  }
  void send(wire::MessageClass kind, Text const& text) {
    rogue_.send(kind, text.header, text.payload, UCP_AM_SEND_FLAG_EAGER);
  }
  void send_sealed(Text const& text) { send(wire::MessageClass::sealed, text); }
  Text const& handshake() const { return handshake_; }
  Server::Session const& session() const { return session_; }

  template <typename Predicate>
  bool wait(Predicate predicate) {
    return rogue_.wait(predicate);
  }

 private:
  Server& server_;
  Server::Session session_;
  Rogue rogue_;
  SessionOpening opening_;
  Text handshake_;
  std::unique_ptr<Sealer> sealer_;
  std::uint64_t sequence_ = 0;
};

/// Two sessions: the second one must continue whatever happens to the first.
class SealedSession : public ::testing::Test {
 protected:
  ~SealedSession() override {
    friend_.send_sealed(friend_.sealed(friend_.put(7, 77)));
    EXPECT_TRUE(friend_.wait([&] { return server_.word(7) == 77; }));
    EXPECT_FALSE(server_.is_lost(friend_.session()));
  }

  Server server_;
  Client client_{server_, server_.open()};
  Client friend_{server_, server_.open()};
};

TEST_F(SealedSession, ExecutesSealedRequests) {
  for (std::uint64_t i = 1; i <= 1000; ++i) client_.send_sealed(client_.sealed(client_.put(0, i)));
  EXPECT_TRUE(client_.wait([&] { return server_.word(0) == 1000; }));
  EXPECT_FALSE(server_.is_lost(client_.session()));
  EXPECT_EQ(server_.dropped(), 0u);
}

TEST_F(SealedSession, EndsWithAChangedMessage) {
  client_.send_sealed(client_.sealed(client_.put(0, 1)));
  EXPECT_TRUE(client_.wait([&] { return server_.word(0) == 1; }));
  Text changed = client_.sealed(client_.put(1, 2));
  changed.payload[0] ^= std::byte{1};
  client_.send_sealed(changed);
  client_.send_sealed(client_.sealed(client_.put(2, 3)));
  EXPECT_TRUE(client_.wait([&] { return server_.is_lost(client_.session()); }));
  EXPECT_EQ(server_.word(1), untouched);
  EXPECT_EQ(server_.word(2), untouched);
}

TEST_F(SealedSession, EndsIfAMessageIsMissing) {
  (void)client_.sealed(client_.put(0, 1));
  client_.send_sealed(client_.sealed(client_.put(1, 2)));
  EXPECT_TRUE(client_.wait([&] { return server_.is_lost(client_.session()); }));
  EXPECT_EQ(server_.word(0), untouched);
  EXPECT_EQ(server_.word(1), untouched);
}

TEST_F(SealedSession, EndsWhenItsClientHasRefusedAMessage) {
  client_.send_sealed(client_.sealed(client_.put(0, 1)));
  EXPECT_TRUE(client_.wait([&] { return server_.word(0) == 1; }));
  client_.send_sealed(client_.sealed(client_.refusal(), wire::MessageClass::disconnect));
  EXPECT_TRUE(client_.wait([&] { return server_.is_lost(client_.session()); }));
}

/// An eavesdropper on unencrypted traffic knows the session's tokens, and could forge such a notice.
TEST(UnencryptedSession, SurvivesNoticeOfRefusedMessage) {
  Server server(false);
  Client client(server, server.open());
  client.send(wire::MessageClass::request, client.put(0, 1));
  EXPECT_TRUE(client.wait([&] { return server.word(0) == 1; }));
  client.send(wire::MessageClass::disconnect, client.refusal());
  client.send(wire::MessageClass::request, client.put(0, 2));
  EXPECT_TRUE(client.wait([&] { return server.word(0) == 2; }));
  EXPECT_FALSE(server.is_lost(client.session()));
}

TEST_F(SealedSession, IgnoresRepeatedMessages) {
  Text const first = client_.sealed(client_.put(0, 1));
  client_.send_sealed(first);
  client_.send_sealed(client_.sealed(client_.put(0, 2)));
  for (int i = 0; i < 10; ++i) client_.send_sealed(first);
  EXPECT_TRUE(client_.wait([&] { return server_.dropped() == 10; }));
  EXPECT_EQ(server_.word(0), 2u);
  client_.send_sealed(client_.sealed(client_.put(0, 3)));
  EXPECT_TRUE(client_.wait([&] { return server_.word(0) == 3; }));
}

/// Even a peer that knows the session's tokens cannot send unencrypted messages.
TEST_F(SealedSession, DropsUnencryptedMessages) {
  client_.send_sealed(client_.sealed(client_.put(0, 1)));
  EXPECT_TRUE(client_.wait([&] { return server_.word(0) == 1; }));
  client_.send(wire::MessageClass::request, client_.put(1, 2));
  client_.send(wire::MessageClass::disconnect, {client_.put(1, 2).header, {}});
  EXPECT_TRUE(client_.wait([&] { return server_.dropped() == 2; }));
  EXPECT_EQ(server_.word(1), untouched);
}

TEST_F(SealedSession, IgnoresMessagesWithoutConnection) {
  Text unknown = client_.sealed(client_.put(0, 1));
  unknown.header[offsetof(wire::SealedHeader, connection)] ^= std::byte{1};
  client_.send_sealed(unknown);
  client_.send_sealed({{}, {}});
  EXPECT_TRUE(client_.wait([&] { return server_.dropped() == 2; }));
  EXPECT_FALSE(server_.is_lost(client_.session()));
}

/// A handshake and a put of a client are replayed, while the session lives and after it was lost.
TEST_F(SealedSession, RejectsReplay) {
  Text const put = client_.sealed(client_.put(0, 1));
  client_.send_sealed(put);
  EXPECT_TRUE(client_.wait([&] { return server_.word(0) == 1; }));
  client_.send_sealed(client_.sealed(client_.put(0, 2)));
  EXPECT_TRUE(client_.wait([&] { return server_.word(0) == 2; }));
  auto const replay = [&] {
    std::uint64_t const before = server_.dropped();
    client_.send(wire::MessageClass::request, client_.handshake());
    client_.send_sealed(put);
    EXPECT_TRUE(client_.wait([&] { return server_.dropped() >= before + 2; }));
    EXPECT_EQ(server_.word(0), 2u);
  };
  replay();
  Text forged = client_.sealed(client_.put(1, 3));
  forged.header.back() ^= std::byte{1};
  client_.send_sealed(forged);
  EXPECT_TRUE(client_.wait([&] { return server_.is_lost(client_.session()); }));
  replay();
}

/// A complete engine with the address of the session.
TEST_F(SealedSession, AcceptsEngineAsClient) {
  mpix_bootstrap job{};
  job.size = sizeof job;
  job.process = 1;
  job.publish = [](void*, void const*, std::size_t) { return 0; };
  job.peer_address = [](void*, std::uint64_t, void const**, std::size_t*) { return -1; };
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  config.interfaces = "lo";
  mpix_engine_t* engine = nullptr;
  ASSERT_EQ(mpix_engine_create(&config, &job, &engine), 0);
  Server::Session const session = server_.open();
  mpix_engine_peer_t* const peer =
      mpix_engine_find_peer_at(engine, session.address.data(), session.address.size());
  ASSERT_NE(peer, nullptr);
  std::uint64_t value = 4711;
  mpix_engine_transfer transfer{};
  transfer.origin = &value;
  transfer.origin_layout.block = transfer.target_layout.block = sizeof value;
  transfer.target = 8;
  transfer.exposure = server_.exposure;
  EXPECT_EQ(mpix_engine_put(engine, peer, &transfer, nullptr), 0);
  mpix_engine_complete(engine, peer, mpix_engine_newest(peer));
  EXPECT_EQ(mpix_engine_take_error(engine, peer, 0), 0);
  EXPECT_EQ(server_.word(1), 4711u);
  mpix_engine_destroy(engine);
}

TEST(SealedEngine, RejectsConfigurationsWithoutEncryption) {
  mpix_bootstrap job{};
  job.size = sizeof job;
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  config.encrypt = 1;
  mpix_engine_t* engine = nullptr;
  config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  EXPECT_EQ(mpix_engine_create(&config, &job, &engine), MPIX_ENGINE_BAD_ARGUMENT);
  config.exposed_only = 1;
  config.protocols |= MPIX_ENGINE_PROTOCOL_NETWORK;
  EXPECT_EQ(mpix_engine_create(&config, &job, &engine), MPIX_ENGINE_BAD_ARGUMENT);
}

}  // namespace
}  // namespace mpixrma::engine
