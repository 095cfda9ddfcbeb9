/// Encrypted and authenticated byte streams, one per direction, by crypto_secretstream_xchacha20poly1305. A
/// direction begins with the header of its stream; records follow: the length of the ciphertext (4 bytes,
/// little-endian), then the ciphertext. Opening the next record detects removed, repeated, reordered and
/// modified records.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mpixrma::nam {

/// The keys as one side of a session uses them.
struct SessionKeys {
  std::array<unsigned char, 32> sent{};      ///< key of what this side sends
  std::array<unsigned char, 32> received{};  ///< key of what the other side sends
};

/// One side of a session. Not thread-safe.
class SecureStream {
 public:
  /// Maximum number of plaintext bytes of one record.
  static constexpr std::size_t record_bytes = 16384;

  explicit SecureStream(SessionKeys const& keys);
  /// Restores the side whose state() another process of this host has exported. Throws Error(malformed).
  static SecureStream from_state(std::string const& state);

  /// Appends the records of `plain` to `out`.
  void seal(std::span<std::byte const> plain, std::vector<std::byte>* out);
  /// Opens the complete records at the beginning of `records` and appends their bytes to `out`. Returns the
  /// number of bytes consumed from `records`. Throws Error(malformed) if the other side has not sealed a
  /// record, or not at this position; `out` then has the bytes of the records before it.
  std::size_t open(std::span<std::byte const> records, std::vector<std::byte>* out);

  /// Exports the state for the process that continues the connection; this object must not be used
  /// afterwards. The state has the keys of this session only. Both directions must have begun.
  std::string state() const;

 private:
  /// Has the size of libsodium's state, checked in the source file.
  using State = std::array<unsigned char, 52>;
  SecureStream() = default;

  alignas(8) State sent_{};
  alignas(8) State received_{};
  std::array<unsigned char, 24> header_{};  ///< header of the sent stream, until it is sent
  std::array<unsigned char, 32> received_key_{};
  bool sending_ = false;    ///< the header is sent
  bool receiving_ = false;  ///< the header of the other side is received
};

}  // namespace mpixrma::nam
