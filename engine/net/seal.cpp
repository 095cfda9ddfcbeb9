#include "engine/net/seal.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>

namespace mpixrma::engine {

namespace {

static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == sizeof(SealKey::key));
static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == wire::seal_tag_bytes);
static_assert(wire::max_header_bytes <= UINT8_MAX);

unsigned char* raw(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }
unsigned char const* raw(std::byte const* bytes) noexcept {
  return reinterpret_cast<unsigned char const*>(bytes);
}

/// The two parts of a message, which are encrypted separately.
enum class Part : unsigned char { head, payload };

using Nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

/// Never repeats for one key, because each message has its own number.
Nonce nonce_of(std::uint64_t number, Part part) noexcept {
  Nonce nonce{};
  std::memcpy(nonce.data(), &number, sizeof number);
  nonce[sizeof number] = static_cast<unsigned char>(part);
  return nonce;
}

using Tag = std::span<std::byte, wire::seal_tag_bytes>;
using ConstTag = std::span<std::byte const, wire::seal_tag_bytes>;

void encrypt(SealKey const& key, Nonce const& nonce, std::span<std::byte const> clear,
             std::span<std::byte const> authenticated, std::byte* out, Tag tag) noexcept {
  (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
      raw(out), raw(tag.data()), nullptr, raw(clear.data()), clear.size(), raw(authenticated.data()),
      authenticated.size(), nullptr, nonce.data(), raw(key.key.data()));
}

/// Returns false, without decrypting anything, if the bytes or the tag are not authentic.
bool decrypt(SealKey const& key, Nonce const& nonce, std::span<std::byte const> encrypted,
             std::span<std::byte const> authenticated, ConstTag tag, std::byte* out) noexcept {
  return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
             raw(out), nullptr, raw(encrypted.data()), encrypted.size(), raw(tag.data()),
             raw(authenticated.data()), authenticated.size(), nonce.data(), raw(key.key.data())) == 0;
}

bool is_known(std::uint8_t message_class) noexcept {
  switch (static_cast<wire::MessageClass>(message_class)) {
    case wire::MessageClass::request:
    case wire::MessageClass::reply:
    case wire::MessageClass::disconnect:
    case wire::MessageClass::request_batch:
    case wire::MessageClass::reply_batch: return true;
    case wire::MessageClass::sealed: return false;
  }
  return false;
}

/// The uses of the key that both ends derive from the session's secret.
enum class Subkey : std::uint64_t { requests = 1, replies, ids };

template <typename Bytes>
void derive(Bytes& out, std::span<std::byte const, crypto_kdf_KEYBYTES> from, Subkey which) noexcept {
  (void)crypto_kdf_derive_from_key(reinterpret_cast<unsigned char*>(out.data()), out.size() * sizeof out[0],
                                   static_cast<std::uint64_t>(which), "mpixseal", raw(from.data()));
}

}  // namespace

std::uint64_t wire::sealed_connection_of(std::span<std::byte const> header) noexcept {
  SealedHeader sealed{};
  if (header.size() < sizeof sealed) return 0;
  std::memcpy(&sealed, header.data(), sizeof sealed);
  return sealed.magic == magic && sealed.version == version && sealed.reserved == 0 ? sealed.connection : 0;
}

SealKeys seal_keys_of(Secret const& target, SessionOpening const& opening) {
  Secret connection = connection_key_of(target, opening);
  SealKeys keys;
  std::array<std::uint64_t, 2> ids{};
  derive(keys.requests.key, connection, Subkey::requests);
  derive(keys.replies.key, connection, Subkey::replies);
  derive(ids, connection, Subkey::ids);
  keys.requests.id = ids[0];
  keys.replies.id = ids[1];
  sodium_memzero(connection.data(), connection.size());
  return keys;
}

Sealer::~Sealer() { sodium_memzero(key_.key.data(), key_.key.size()); }

std::size_t Sealer::seal(wire::MessageClass message_class, std::span<std::byte const> header,
                         std::span<std::byte> payload,
                         std::span<std::byte, wire::max_sealed_header_bytes> out) noexcept {
  using namespace wire;
  std::uint64_t const number = number_++;
  SealedInnerHeader head{static_cast<std::uint8_t>(message_class),
                         static_cast<std::uint8_t>(header.size()),
                         0,
                         static_cast<std::uint32_t>(payload.size()),
                         {}};
  if (!payload.empty())
    encrypt(key_, nonce_of(number, Part::payload), payload, {}, payload.data(), head.payload_tag);
  std::array<std::byte, sizeof head + max_header_bytes> clear;
  std::memcpy(clear.data(), &head, sizeof head);
  std::memcpy(clear.data() + sizeof head, header.data(), header.size());
  std::size_t const bytes = sizeof head + header.size();
  SealedHeader const sealed{magic, version, 0, key_.id, number};
  std::memcpy(out.data(), &sealed, sizeof sealed);
  std::byte* const encrypted = out.data() + sizeof sealed;
  encrypt(key_, nonce_of(number, Part::head), std::span(clear).first(bytes), out.first(sizeof sealed),
          encrypted, Tag(encrypted + bytes, seal_tag_bytes));
  return sizeof sealed + bytes + seal_tag_bytes;
}

Opener::~Opener() { sodium_memzero(key_.key.data(), key_.key.size()); }

/// Returns whether the header is authentic and consistent.
bool Opener::open_head(std::span<std::byte const> header, wire::SealedInnerHeader* head,
                       OpenedMessage* out) const noexcept {
  using namespace wire;
  constexpr std::size_t least = sizeof(SealedHeader) + sizeof *head + seal_tag_bytes;
  if (header.size() < least || header.size() > max_sealed_header_bytes) return false;
  std::span<std::byte const> const encrypted =
      header.subspan(sizeof(SealedHeader), header.size() - sizeof(SealedHeader) - seal_tag_bytes);
  std::array<std::byte, sizeof *head + max_header_bytes> clear;
  if (!decrypt(key_, nonce_of(next_, Part::head), encrypted, header.first(sizeof(SealedHeader)),
               ConstTag(header.last(seal_tag_bytes)), clear.data()))
    return false;
  std::memcpy(head, clear.data(), sizeof *head);
  if (!is_known(head->message_class) || head->header_bytes != encrypted.size() - sizeof *head) return false;
  out->message_class = static_cast<MessageClass>(head->message_class);
  out->header_bytes = head->header_bytes;
  std::memcpy(out->header.data(), clear.data() + sizeof *head, head->header_bytes);
  return true;
}

Opener::Verdict Opener::open(std::span<std::byte const> header, std::span<std::byte const> payload,
                             std::vector<std::byte>* into, OpenedMessage* out) {
  wire::SealedHeader sealed{};
  if (header.size() < sizeof sealed) return Verdict::forged;
  std::memcpy(&sealed, header.data(), sizeof sealed);
  if (sealed.connection != key_.id) return Verdict::forged;
  if (sealed.number < next_) return Verdict::repeated;
  if (sealed.number > next_) return Verdict::out_of_order;
  OpenedMessage opened;
  wire::SealedInnerHeader head{};
  if (!open_head(header, &head, &opened) || head.payload_bytes != payload.size()) return Verdict::forged;
  if (into->size() < payload.size()) into->resize(payload.size());
  if (!payload.empty() &&
      !decrypt(key_, nonce_of(next_, Part::payload), payload, {}, head.payload_tag, into->data()))
    return Verdict::forged;
  ++next_;
  *out = opened;
  return Verdict::opened;
}

}  // namespace mpixrma::engine
