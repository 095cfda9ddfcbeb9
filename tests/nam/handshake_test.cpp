/// Handshakes of sessions, their encryption, and secrets of users.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/protocol/secure_stream.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {
namespace {

struct Handshake : testing::Test {
  KeyPair server = KeyPair::make();
  ClientHandshake client;
  ServerHandshake answered = ServerHandshake::answer_to(
      client.hello(server.public_key), [this](auto const&) -> KeyPair const& { return server; });
  SecuredSession session = client.finish(answered.answer, [](PublicKey const&) {});
};

TEST_F(Handshake, BothSidesHaveTheSameKeys) {
  EXPECT_EQ(session.keys.sent, answered.session.keys.received);
  EXPECT_EQ(session.keys.received, answered.session.keys.sent);
  EXPECT_NE(session.keys.sent, session.keys.received);
  EXPECT_EQ(session.transcript, answered.session.transcript);
}

TEST_F(Handshake, ServerWithoutItsSecretKeyHasOtherKeys) {
  KeyPair fake = KeyPair::make();
  fake.public_key = server.public_key;
  ServerHandshake const forged = ServerHandshake::answer_to(
      client.hello(server.public_key), [&](auto const&) -> KeyPair const& { return fake; });
  SecuredSession const mine = client.finish(forged.answer, [](PublicKey const&) {});
  EXPECT_NE(mine.keys.sent, forged.session.keys.received);
  EXPECT_NE(mine.keys.received, forged.session.keys.sent);
}

TEST_F(Handshake, ProofIsSpecificToSecretSideUserAndSession) {
  UserSecret const secret = random_secret();
  std::string const proof = make_proof(secret, Prover::client, "ann", session.transcript);
  EXPECT_TRUE(is_proof(secret, Prover::client, "ann", session.transcript, proof));
  EXPECT_FALSE(is_proof(secret, Prover::server, "ann", session.transcript, proof));
  EXPECT_FALSE(is_proof(random_secret(), Prover::client, "ann", session.transcript, proof));
  EXPECT_FALSE(is_proof(secret, Prover::client, "bob", session.transcript, proof));
  ServerHandshake const another = ServerHandshake::answer_to(
      client.hello(server.public_key), [this](auto const&) -> KeyPair const& { return server; });
  EXPECT_FALSE(is_proof(secret, Prover::client, "ann", another.session.transcript, proof));
}

TEST_F(Handshake, RefusesOtherVersionsAndKeysOfSmallOrder) {
  auto const key_for = [this](auto const&) -> KeyPair const& { return server; };
  Json hello = client.hello(std::nullopt);
  hello["version"] = 1;
  EXPECT_THROW(ServerHandshake::answer_to(hello, key_for), Error);
  EXPECT_THROW(ServerHandshake::answer_to({{"op", "hello"}, {"user", "ann"}, {"nonce", "0"}}, key_for),
               Error);
  hello = client.hello(std::nullopt);
  hello["ephemeral"] = to_text(PublicKey{});
  EXPECT_THROW(ServerHandshake::answer_to(hello, key_for), Error);
  Json answer = answered.answer;
  answer["key"] = to_text(PublicKey{});
  EXPECT_THROW(client.finish(answer, [](PublicKey const&) {}), Error);
}

TEST_F(Handshake, StreamDetectsAnyChangeOfRecord) {
  std::vector<std::byte> const plain(40000, std::byte{5});
  SecureStream sender(session.keys);
  std::vector<std::byte> records;
  sender.seal(plain, &records);
  std::vector<std::byte> opened;
  SecureStream receiver(answered.session.keys);
  EXPECT_EQ(receiver.open(records, &opened), records.size());
  EXPECT_EQ(opened, plain);
  EXPECT_THROW(receiver.open(records, &opened), Error) << "the same records a second time";
  for (std::size_t const at : {0u, 23u, 24u, 28u, 1000u, 39999u}) {
    std::vector<std::byte> changed = records;
    changed[at] ^= std::byte{1};
    SecureStream another(answered.session.keys);
    opened.clear();
    EXPECT_THROW(
        {
          if (another.open(changed, &opened) != changed.size()) throw Error(ErrorCode::malformed, "cut");
        },
        Error)
        << at;
  }
}

/// Bytes in place of a refused record must not complete a message of several records.
TEST_F(Handshake, StreamAppendsNoDataOfRefusedRecord) {
  constexpr std::size_t whole = 2 * SecureStream::record_bytes;
  SecureStream sender(session.keys);
  std::vector<std::byte> records;
  sender.seal(std::vector<std::byte>(whole + 100, std::byte{5}), &records);
  records.back() ^= std::byte{1};
  SecureStream receiver(answered.session.keys);
  std::vector<std::byte> opened;
  EXPECT_THROW((void)receiver.open(records, &opened), Error);
  EXPECT_EQ(opened, std::vector<std::byte>(whole, std::byte{5}));
}

TEST_F(Handshake, ChannelReturnsNoMessageWithARefusedRecord) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  FileDescriptor const between(pair[0]);
  Channel receiver(FileDescriptor(pair[1]), {});
  receiver.protect(SecureStream(answered.session.keys));
  std::string const head = R"({"op":"write"})";
  std::uint32_t const header[4] = {0x316d616e, static_cast<std::uint32_t>(head.size()), 40000, 0};
  std::vector<std::byte> frame(sizeof header + head.size() + header[2], std::byte{5});
  std::memcpy(frame.data(), header, sizeof header);
  std::memcpy(frame.data() + sizeof header, head.data(), head.size());
  std::vector<std::byte> records;
  SecureStream(session.keys).seal(frame, &records);
  records.back() ^= std::byte{1};
  ASSERT_EQ(::send(between.get(), records.data(), records.size(), 0), static_cast<ssize_t>(records.size()));
  EXPECT_FALSE(receiver.fill());
  EXPECT_THROW((void)receiver.next(), Error);
}

TEST_F(Handshake, StreamContinuesInAnotherProcess) {
  std::vector<std::byte> const plain(100, std::byte{5});
  std::vector<std::byte> records;
  std::vector<std::byte> opened;
  SecureStream client_side(session.keys);
  SecureStream server_side(answered.session.keys);
  EXPECT_THROW((void)server_side.state(), Error);
  client_side.seal(plain, &records);
  (void)server_side.open(records, &opened);
  records.clear();
  server_side.seal(plain, &records);
  (void)client_side.open(records, &opened);
  SecureStream moved = SecureStream::from_state(server_side.state());
  records.clear();
  moved.seal(plain, &records);
  client_side.seal(plain, &records);
  opened.clear();
  std::size_t const own = 4 + plain.size() + 17;
  EXPECT_EQ(client_side.open(std::span(records).first(own), &opened), own);
  EXPECT_EQ(moved.open(std::span(records).subspan(own), &opened), own);
  EXPECT_EQ(opened.size(), 2 * plain.size());
  EXPECT_THROW(SecureStream::from_state("00"), Error);
}

TEST_F(Handshake, SecretReadableByOtherUsersIsRefused) {
  auto const file = std::filesystem::temp_directory_path() / ("secret-" + random_identifier());
  EXPECT_FALSE(read_secret(file));
  UserSecret const secret = random_secret();
  write_secret(file, secret);
  EXPECT_EQ(read_secret(file), secret);
  std::filesystem::permissions(file, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  EXPECT_THROW(read_secret(file), Error);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace mpixrma::nam
