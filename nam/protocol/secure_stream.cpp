#include "nam/protocol/secure_stream.hpp"

#include <algorithm>
#include <cstring>

#include "nam/protocol/error.hpp"
#include "nam/protocol/sodium.hpp"

namespace mpixrma::nam {

namespace {

using StreamState = crypto_secretstream_xchacha20poly1305_state;
constexpr std::size_t header_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t overhead = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t length_bytes = 4;
constexpr unsigned char message_tag = crypto_secretstream_xchacha20poly1305_TAG_MESSAGE;

[[noreturn]] void refuse() {
  throw Error(ErrorCode::malformed, "a record of the connection was modified in transit or is out of order");
}

StreamState* state_of(unsigned char* bytes) noexcept { return reinterpret_cast<StreamState*>(bytes); }

void put_length(std::size_t length, std::byte* out) noexcept {
  for (std::size_t i = 0; i < length_bytes; ++i) out[i] = static_cast<std::byte>(length >> (8 * i));
}

std::size_t length_at(std::byte const* bytes) noexcept {
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::size_t>(bytes[i]) << (8 * i);
  return length;
}

}  // namespace

SecureStream::SecureStream(SessionKeys const& keys) : received_key_(keys.received) {
  static_assert(sizeof(State) == sizeof(StreamState) && alignof(StreamState) <= 8);
  static_assert(sizeof header_ == header_bytes &&
                sizeof keys.sent == crypto_secretstream_xchacha20poly1305_KEYBYTES);
  require_sodium();
  crypto_secretstream_xchacha20poly1305_init_push(state_of(sent_.data()), header_.data(), keys.sent.data());
}

void SecureStream::seal(std::span<std::byte const> plain, std::vector<std::byte>* out) {
  if (!sending_) {
    auto const* const header = reinterpret_cast<std::byte const*>(header_.data());
    out->insert(out->end(), header, header + header_bytes);
    sending_ = true;
  }
  while (!plain.empty()) {
    std::size_t const bytes = std::min(plain.size(), record_bytes);
    std::size_t const at = out->size();
    out->resize(at + length_bytes + bytes + overhead);
    put_length(bytes + overhead, out->data() + at);
    crypto_secretstream_xchacha20poly1305_push(state_of(sent_.data()), raw(out->data() + at + length_bytes),
                                               nullptr, raw(plain.data()), bytes, nullptr, 0, message_tag);
    plain = plain.subspan(bytes);
  }
}

std::size_t SecureStream::open(std::span<std::byte const> records, std::vector<std::byte>* out) {
  std::size_t const all = records.size();
  if (!receiving_) {
    if (records.size() < header_bytes) return 0;
    if (crypto_secretstream_xchacha20poly1305_init_pull(state_of(received_.data()), raw(records.data()),
                                                        received_key_.data()) != 0)
      refuse();
    sodium_memzero(received_key_.data(), received_key_.size());
    receiving_ = true;
    records = records.subspan(header_bytes);
  }
  while (records.size() >= length_bytes) {
    std::size_t const length = length_at(records.data());
    if (length <= overhead || length > record_bytes + overhead) refuse();
    if (records.size() - length_bytes < length) break;
    std::size_t const at = out->size();
    out->resize(at + length - overhead);
    unsigned char tag = 0;
    if (crypto_secretstream_xchacha20poly1305_pull(state_of(received_.data()), raw(out->data() + at), nullptr,
                                                   &tag, raw(records.data() + length_bytes), length, nullptr,
                                                   0) != 0 ||
        tag != message_tag) {
      // Nothing of a refused record may complete the message of the records before it.
      out->resize(at);
      refuse();
    }
    records = records.subspan(length_bytes + length);
  }
  return all - records.size();
}

std::string SecureStream::state() const {
  if (!sending_ || !receiving_)
    throw Error(ErrorCode::internal, "a stream before its first record has no state");
  std::array<unsigned char, 2 * sizeof(State)> both;
  std::memcpy(both.data(), sent_.data(), sizeof(State));
  std::memcpy(both.data() + sizeof(State), received_.data(), sizeof(State));
  std::array<char, 2 * both.size() + 1> text;
  return sodium_bin2hex(text.data(), text.size(), both.data(), both.size());
}

SecureStream SecureStream::from_state(std::string const& state) {
  require_sodium();
  std::array<unsigned char, 2 * sizeof(State)> both;
  std::size_t length = 0;
  if (state.size() != 2 * both.size() ||
      sodium_hex2bin(both.data(), both.size(), state.data(), state.size(), nullptr, &length, nullptr) != 0 ||
      length != both.size())
    throw Error(ErrorCode::malformed, "the state of a stream is damaged");
  SecureStream stream;
  std::memcpy(stream.sent_.data(), both.data(), sizeof(State));
  std::memcpy(stream.received_.data(), both.data() + sizeof(State), sizeof(State));
  stream.sending_ = true;
  stream.receiving_ = true;
  return stream;
}

}  // namespace mpixrma::nam
