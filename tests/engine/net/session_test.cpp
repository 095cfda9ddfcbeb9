/// The proof in a handshake covers all of it, and tokens are unique per origin and target.
#include "engine/net/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace mpixrma::engine {
namespace {

struct Case {
  Credentials target = Credentials::make(2);
  SessionOpening opening{1, 77, 2, 5, 1, Credentials::make(1).nonce};
  std::vector<std::byte> address = std::vector<std::byte>(100, std::byte{3});

  std::vector<std::byte> payload() const { return make_handshake(target.secret, opening, address); }
};

TEST(Session, HolderOfTheSecretIsAccepted) {
  Case const made;
  std::vector<std::byte> const payload = made.payload();
  Handshake received;
  ASSERT_TRUE(read_handshake(made.target.secret, payload, &received));
  EXPECT_EQ(received.opening.origin, 1u);
  EXPECT_EQ(received.opening.origin_incarnation, 77u);
  EXPECT_EQ(received.opening.target, 2u);
  EXPECT_EQ(received.opening.number, 5u);
  EXPECT_EQ(received.opening.nonce, made.opening.nonce);
  EXPECT_TRUE(std::ranges::equal(received.address, made.address));
}

TEST(Session, RejectsHandshakeWithAnyChangedBit) {
  Case const made;
  std::vector<std::byte> payload = made.payload();
  Handshake received;
  for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
    payload[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(read_handshake(made.target.secret, payload, &received)) << "bit " << bit;
    payload[bit / 8] ^= std::byte{1} << bit % 8;
  }
  for (std::size_t bytes = 0; bytes < payload.size(); ++bytes)
    EXPECT_FALSE(read_handshake(made.target.secret, std::span(payload).first(bytes), &received)) << bytes;
  payload.push_back(std::byte{0});
  EXPECT_FALSE(read_handshake(made.target.secret, payload, &received));
}

TEST(Session, RejectsHandshakeWithAnotherSecret) {
  Case const made;
  Handshake received;
  EXPECT_FALSE(read_handshake(Credentials::make(2).secret, made.payload(), &received));
  EXPECT_FALSE(read_handshake(Secret{}, made.payload(), &received));
}

TEST(Session, AddressQueriesAndRepliesRejectChangedBytes) {
  Case const made;
  Secret const& secret = made.target.secret;
  std::vector<std::byte> query = make_address_query(secret, made.opening);
  SessionOpening opening;
  ASSERT_TRUE(read_address_query(secret, query, &opening));
  EXPECT_EQ(opening.origin, made.opening.origin);
  std::vector<std::byte> reply = make_address_reply(secret, opening, made.address);
  std::span<std::byte const> address;
  ASSERT_TRUE(read_address_reply(secret, opening, reply, &address));
  EXPECT_TRUE(std::ranges::equal(address, made.address));
  Handshake received;
  EXPECT_FALSE(read_handshake(secret, query, &received));
  EXPECT_FALSE(read_handshake(secret, reply, &received));
  EXPECT_FALSE(read_address_query(secret, made.payload(), &opening));
  EXPECT_FALSE(read_address_query(secret, make_address_reply(secret, opening, {}), &opening));
  EXPECT_FALSE(read_address_reply(secret, opening, made.payload(), &address));
  SessionOpening other = opening;
  ++other.number;
  EXPECT_FALSE(read_address_reply(secret, other, reply, &address)) << "the reply to an earlier query";
  for (std::size_t byte = 0; byte < query.size(); ++byte) {
    query[byte] ^= std::byte{1};
    EXPECT_FALSE(read_address_query(secret, query, &opening)) << byte;
    query[byte] ^= std::byte{1};
  }
  for (std::size_t byte = 0; byte < reply.size(); ++byte) {
    reply[byte] ^= std::byte{1};
    EXPECT_FALSE(read_address_reply(secret, made.opening, reply, &address)) << byte;
    reply[byte] ^= std::byte{1};
  }
}

TEST(Session, TokensOutliveConnectionsAndBelongToOnePairOfProcesses) {
  Case const made;
  SessionTokens const tokens = tokens_of(made.target.secret, made.opening);
  EXPECT_NE(tokens.request, tokens.reply);
  SessionOpening other = made.opening;
  other.number = 6;
  EXPECT_EQ(tokens_of(made.target.secret, other), tokens);
  std::set<std::uint64_t> seen = {tokens.request, tokens.reply};
  auto const differs = [&](Secret const& secret, SessionOpening const& opening) {
    SessionTokens const found = tokens_of(secret, opening);
    return seen.insert(found.request).second && seen.insert(found.reply).second;
  };
  EXPECT_TRUE(differs(Credentials::make(2).secret, made.opening));
  for (auto const change : {+[](SessionOpening& o) { ++o.origin; }, +[](SessionOpening& o) { ++o.target; },
                            +[](SessionOpening& o) { ++o.origin_incarnation; },
                            +[](SessionOpening& o) { o.nonce[15] ^= std::byte{1}; }}) {
    other = made.opening;
    change(other);
    EXPECT_TRUE(differs(made.target.secret, other));
  }
}

TEST(Session, HandshakeContainsNeitherSecretNorTokens) {
  Case const made;
  std::vector<std::byte> const payload = made.payload();
  SessionTokens const tokens = tokens_of(made.target.secret, made.opening);
  auto const shows = [&](auto const& value) {
    auto const bytes = std::as_bytes(std::span(&value, 1));
    return std::search(payload.begin(), payload.end(), bytes.begin(), bytes.end()) != payload.end();
  };
  EXPECT_FALSE(shows(made.target.secret));
  EXPECT_FALSE(shows(tokens.request));
  EXPECT_FALSE(shows(tokens.reply));
}

TEST(Session, CredentialsAreUnique) {
  Credentials const first = Credentials::make(1);
  Credentials const second = Credentials::make(1);
  EXPECT_NE(first.secret, second.secret);
  EXPECT_NE(first.nonce, second.nonce);
  EXPECT_LT(first.incarnation, second.incarnation);
  EXPECT_NE(first.secret, Secret{});
}

}  // namespace
}  // namespace mpixrma::engine
