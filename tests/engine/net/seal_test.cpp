/// Encrypted messages: decrypted once, in order and unmodified, or not at all.
#include "engine/net/seal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace mpixrma::engine {
namespace {

using Bytes = std::vector<std::byte>;
using Verdict = Opener::Verdict;

Bytes filled(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 31 + seed);
  return made;
}

struct Sealed {
  Bytes header;
  Bytes payload;
};

/// Both directions of a connection.
struct Connection {
  explicit Connection(std::uint64_t number = 1) {
    SessionOpening const opening{1, 77, 2, number, 1, nonce};
    keys = seal_keys_of(secret, opening);
  }
  Sealed seal(Sealer& sealer, Bytes const& header, Bytes payload,
              wire::MessageClass kind = wire::MessageClass::request) const {
    std::array<std::byte, wire::max_sealed_header_bytes> out;
    std::size_t const bytes = sealer.seal(kind, header, payload, out);
    return {Bytes(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)), std::move(payload)};
  }

  inline static Secret const secret = Credentials::make(2).secret;
  inline static std::array<std::byte, 16> const nonce = Credentials::make(1).nonce;
  SealKeys keys;
};

/// Returns the verdict on the message; a decrypted message must have these contents.
Verdict open(Opener& opener, Sealed const& sealed, Bytes const& header = {}, Bytes const& payload = {}) {
  OpenedMessage opened;
  Bytes into(sealed.payload.size());
  Verdict const verdict = opener.open(sealed.header, sealed.payload, &into, &opened);
  if (verdict != Verdict::opened) {
    EXPECT_EQ(opened.header_bytes, 0u);
    EXPECT_TRUE(std::ranges::all_of(into, [](std::byte value) { return value == std::byte{0}; }));
    return verdict;
  }
  EXPECT_TRUE(std::ranges::equal(std::span(opened.header).first(opened.header_bytes), header));
  EXPECT_EQ(into, payload);
  return verdict;
}

TEST(Seal, OpensSealedMessages) {
  Connection const connection;
  Sealer sealer(connection.keys.requests);
  Opener opener(connection.keys.requests);
  for (std::size_t const payload : {0u, 1u, 8u, 4096u, 131072u}) {
    for (std::size_t const header : {16u, 24u, 80u, 168u}) {
      Bytes const clear = filled(header, 3);
      Bytes const data = filled(payload, 5);
      Sealed const sealed = connection.seal(sealer, clear, data);
      if (payload > 1) {
        EXPECT_NE(sealed.payload, data);
      }
      auto const found =
          std::search(sealed.header.begin(), sealed.header.end(), clear.begin(), clear.begin() + 8);
      EXPECT_EQ(found, sealed.header.end());
      EXPECT_EQ(open(opener, sealed, clear, data), Verdict::opened);
    }
  }
}

TEST(Seal, KeepsTheClassOfTheMessage) {
  Connection const connection;
  Sealer sealer(connection.keys.requests);
  Opener opener(connection.keys.requests);
  for (wire::MessageClass const kind :
       {wire::MessageClass::request, wire::MessageClass::reply, wire::MessageClass::disconnect,
        wire::MessageClass::request_batch, wire::MessageClass::reply_batch}) {
    Sealed const sealed = connection.seal(sealer, filled(24, 1), {}, kind);
    OpenedMessage opened;
    Bytes none;
    ASSERT_EQ(opener.open(sealed.header, sealed.payload, &none, &opened), Verdict::opened);
    EXPECT_EQ(opened.message_class, kind);
  }
  Sealed const nested = connection.seal(sealer, filled(24, 1), {}, wire::MessageClass::sealed);
  EXPECT_EQ(open(opener, nested), Verdict::forged);
}

TEST(Seal, RefusesEachChangedBit) {
  Connection const connection;
  Sealer sealer(connection.keys.requests);
  Opener opener(connection.keys.requests);
  Bytes const header = filled(168, 1);
  Bytes const payload = filled(64, 2);
  Sealed sealed = connection.seal(sealer, header, payload);
  constexpr std::size_t number_at = offsetof(wire::SealedHeader, number);
  for (Bytes* const part : {&sealed.header, &sealed.payload}) {
    for (std::size_t bit = 0; bit < part->size() * 8; ++bit) {
      (*part)[bit / 8] ^= std::byte{1} << bit % 8;
      bool const is_number = part == &sealed.header && bit / 8 >= number_at && bit / 8 < number_at + 8;
      EXPECT_EQ(open(opener, sealed), is_number ? Verdict::out_of_order : Verdict::forged) << bit;
      (*part)[bit / 8] ^= std::byte{1} << bit % 8;
    }
  }
  EXPECT_EQ(open(opener, sealed, header, payload), Verdict::opened);
}

/// `message` with each shorter `part` is refused.
void expect_truncations_refused(Opener& opener, Sealed const& message, Bytes Sealed::*part) {
  for (std::size_t bytes = 0; bytes < (message.*part).size(); ++bytes) {
    Sealed cut = message;
    (cut.*part).resize(bytes);
    EXPECT_EQ(open(opener, cut), Verdict::forged) << bytes;
  }
}

TEST(Seal, RefusesTruncatedAndExtendedMessages) {
  Connection const connection;
  Sealer sealer(connection.keys.requests);
  Opener opener(connection.keys.requests);
  Bytes const header = filled(80, 1);
  Bytes const payload = filled(64, 2);
  Sealed const sealed = connection.seal(sealer, header, payload);
  expect_truncations_refused(opener, sealed, &Sealed::header);
  expect_truncations_refused(opener, sealed, &Sealed::payload);
  Sealed longer = sealed;
  longer.payload.push_back(std::byte{0});
  EXPECT_EQ(open(opener, longer), Verdict::forged);
  longer = sealed;
  longer.header.resize(1000);
  EXPECT_EQ(open(opener, longer), Verdict::forged);
  EXPECT_EQ(open(opener, sealed, header, payload), Verdict::opened);
}

TEST(Seal, RefusesRepeatedAndReorderedMessages) {
  Connection const connection;
  Sealer sealer(connection.keys.requests);
  Opener opener(connection.keys.requests);
  Bytes const header = filled(24, 1);
  std::vector<Sealed> sealed;
  for (unsigned i = 0; i < 10; ++i) sealed.push_back(connection.seal(sealer, header, filled(100, i)));
  EXPECT_EQ(open(opener, sealed[1]), Verdict::out_of_order);
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_EQ(open(opener, sealed[i], header, filled(100, i)), Verdict::opened);
    for (unsigned earlier = 0; earlier <= i; ++earlier)
      EXPECT_EQ(open(opener, sealed[earlier]), Verdict::repeated);
    for (unsigned later = i + 2; later < 10; ++later)
      EXPECT_EQ(open(opener, sealed[later]), Verdict::out_of_order);
  }
}

/// The payload of one message in place of another's.
TEST(Seal, RefusesPayloadsOfOtherMessages) {
  Connection const connection;
  Sealer sealer(connection.keys.requests);
  Opener opener(connection.keys.requests);
  Sealed const first = connection.seal(sealer, filled(24, 1), filled(64, 1));
  Sealed const second = connection.seal(sealer, filled(24, 1), filled(64, 2));
  EXPECT_EQ(open(opener, {first.header, second.payload}), Verdict::forged);
  EXPECT_EQ(open(opener, first, filled(24, 1), filled(64, 1)), Verdict::opened);
  EXPECT_EQ(open(opener, {second.header, first.payload}), Verdict::forged);
}

/// A key of another connection or direction decrypts nothing, independently of the header.
TEST(Seal, KeysAreSpecificToConnectionAndDirection) {
  Connection const connection;
  Connection const next(2);
  for (SealKey const& other : {connection.keys.replies, next.keys.requests, next.keys.replies}) {
    Sealer sealer(connection.keys.requests);
    Sealed sealed = connection.seal(sealer, filled(24, 1), filled(64, 1));
    EXPECT_NE(wire::sealed_connection_of(sealed.header), other.id);
    Opener opener(other);
    EXPECT_EQ(open(opener, sealed), Verdict::forged);
    std::memcpy(sealed.header.data() + offsetof(wire::SealedHeader, connection), &other.id, sizeof other.id);
    EXPECT_EQ(open(opener, sealed), Verdict::forged);
  }
  EXPECT_EQ(Connection(2).keys.requests.key, next.keys.requests.key);
}

TEST(Seal, HeadersOfOtherVersionsNameNoConnection) {
  Connection const connection;
  Sealer sealer(connection.keys.requests);
  Sealed sealed = connection.seal(sealer, filled(24, 1), {});
  EXPECT_EQ(wire::sealed_connection_of(sealed.header), connection.keys.requests.id);
  EXPECT_EQ(wire::sealed_connection_of(std::span(sealed.header).first(23)), 0u);
  for (std::size_t const byte : {0u, 4u, 6u}) {
    Sealed other = sealed;
    other.header[byte] ^= std::byte{1};
    EXPECT_EQ(wire::sealed_connection_of(other.header), 0u);
  }
}

}  // namespace
}  // namespace mpixrma::engine
