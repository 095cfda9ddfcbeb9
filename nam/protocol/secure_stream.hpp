/// Encrypted and authenticated byte streams, one in each direction, by
/// crypto_secretstream_xchacha20poly1305. A direction begins with the header of its stream; records follow:
/// the length of the ciphertext (4 bytes, little-endian), then the ciphertext. Removed, repeated, reordered
/// and changed records are found when the next one is opened.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mpixrma::nam {

/// As one side of a session sees them.
struct SessionKeys {
  std::array<unsigned char, 32> sent{};      ///< of what this side sends
  std::array<unsigned char, 32> received{};  ///< of what the other side sends
};

/// One side of a session. Not thread-safe.
class SecureStream {
 public:
  /// Most plain bytes of one record.
  static constexpr std::size_t record_bytes = 16384;

  explicit SecureStream(SessionKeys const& keys);
  /// The side whose state() another process of this host has given away. Throws Error(malformed).
  static SecureStream from_state(std::string const& state);

  /// Appends the records of `plain` to `out`.
  void seal(std::span<std::byte const> plain, std::vector<std::byte>* out);
  /// Opens the complete records at the beginning of `records`, and appends their bytes to `out`. Returns how
  /// many bytes of `records` these were. Throws Error(malformed): a record was not sealed by the other side,
  /// or not in this place.
  std::size_t open(std::span<std::byte const> records, std::vector<std::byte>* out);

  /// For the process that goes on with the connection; this object is not used any more. Has the keys of this
  /// session, and no others. Both directions have begun.
  std::string state() const;

 private:
  /// As large as the state of libsodium, which its source checks.
  using State = std::array<unsigned char, 52>;
  SecureStream() = default;

  alignas(8) State sent_{};
  alignas(8) State received_{};
  std::array<unsigned char, 24> header_{};  ///< of what is sent, until it is sent
  std::array<unsigned char, 32> received_key_{};
  bool sending_ = false;    ///< the header is sent
  bool receiving_ = false;  ///< the header of the other side was received
};

}  // namespace mpixrma::nam
