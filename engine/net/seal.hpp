/// Encryption of messages: each connection of a session has one key per direction, which both ends derive
/// from the session's secret. A message is encrypted and authenticated as a whole (ChaCha20-Poly1305 of
/// libsodium); its nonce is its number on the connection, so that each message is accepted once and in order.
///
/// A sealed message has as header a SealedHeader in plaintext, then, encrypted, a SealedInnerHeader and the
/// header of the inner message, and a tag. Its payload is encrypted in place, with its tag in the
/// SealedInnerHeader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/net/session.hpp"
#include "engine/net/wire.hpp"

namespace mpixrma::engine {

namespace wire {

/// The plaintext part of the header, which is authenticated.
struct SealedHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t reserved;
  std::uint64_t connection;  ///< SealKey::id
  std::uint64_t number;      ///< number of the message among those sealed with the key, from 0
};
static_assert(sizeof(SealedHeader) == 24);

inline constexpr std::size_t seal_tag_bytes = 16;

struct SealedInnerHeader {
  std::uint8_t message_class;
  std::uint8_t header_bytes;
  std::uint16_t reserved;
  std::uint32_t payload_bytes;
  std::array<std::byte, seal_tag_bytes> payload_tag;  ///< zero without a payload
};
static_assert(sizeof(SealedInnerHeader) == 24);

inline constexpr std::size_t max_header_bytes = sizeof(RequestHeader);
inline constexpr std::size_t max_sealed_header_bytes =
    sizeof(SealedHeader) + sizeof(SealedInnerHeader) + max_header_bytes + seal_tag_bytes;

/// Returns SealedHeader::connection, or 0 if the header is not one of this version.
std::uint64_t sealed_connection_of(std::span<std::byte const> header) noexcept;

}  // namespace wire

/// The key of one direction of a connection.
struct SealKey {
  std::array<std::byte, 32> key{};
  std::uint64_t id = 0;  ///< identifies the direction of the connection to the receiver; not secret
};

struct SealKeys {
  SealKey requests;  ///< from origin to target
  SealKey replies;   ///< from target to origin
};

/// Returns the keys of the connection that begins with this handshake. They are unique per connection,
/// because `opening` contains a counter.
SealKeys seal_keys_of(Secret const& target, SessionOpening const& opening);

/// Encrypts the messages of one direction.
class Sealer {
 public:
  explicit Sealer(SealKey const& key) noexcept : key_(key) {}
  ~Sealer();
  Sealer(Sealer const&) = delete;
  Sealer& operator=(Sealer const&) = delete;

  /// Encrypts `payload` in place and writes the header of the sealed message to `out`, which may equal
  /// `header`. Returns the size of the header. `header` has at most max_header_bytes bytes.
  std::size_t seal(wire::MessageClass message_class, std::span<std::byte const> header,
                   std::span<std::byte> payload,
                   std::span<std::byte, wire::max_sealed_header_bytes> out) noexcept;

 private:
  SealKey key_;
  std::uint64_t number_ = 0;
};

/// A decrypted message.
struct OpenedMessage {
  wire::MessageClass message_class{};
  std::size_t header_bytes = 0;
  alignas(8) std::array<std::byte, wire::max_header_bytes> header{};
};

/// Decrypts the messages of one direction.
class Opener {
 public:
  explicit Opener(SealKey const& key) noexcept : key_(key) {}
  ~Opener();
  Opener(Opener const&) = delete;
  Opener& operator=(Opener const&) = delete;

  enum class Verdict {
    opened,
    repeated,      ///< an earlier message of the connection, to be ignored
    out_of_order,  ///< a previous message is missing
    forged         ///< not sealed by the other end
  };
  /// Decrypts `payload` to the beginning of `into`, which grows if necessary, once the header is authentic.
  /// `out` and `into` contain either the whole message or nothing of it. Throws std::bad_alloc, and may then
  /// be called again.
  Verdict open(std::span<std::byte const> header, std::span<std::byte const> payload,
               std::vector<std::byte>* into, OpenedMessage* out);

 private:
  bool open_head(std::span<std::byte const> header, wire::SealedInnerHeader* head,
                 OpenedMessage* out) const noexcept;

  SealKey key_;
  std::uint64_t next_ = 0;  ///< number of the next message
};

}  // namespace mpixrma::engine
