/// Accounts for the bytes that a channel stores of incomplete or unsent messages. An owner of many channels
/// uses one account to bound their total, because each channel alone may store a whole message.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace mpixrma::nam {

class KeptBytes {
 public:
  /// Receives the previous and the new number of stored bytes. Returns false if the new number is not
  /// permitted; a decrease is always permitted.
  using Account = std::function<bool(std::size_t before, std::size_t now)>;

  KeptBytes() = default;
  explicit KeptBytes(Account account) : account_(std::move(account)) {}
  KeptBytes(KeptBytes&& other) noexcept { *this = std::move(other); }
  KeptBytes& operator=(KeptBytes&& other) noexcept {
    (void)set(0);
    account_ = std::exchange(other.account_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~KeptBytes() { (void)set(0); }

  /// Returns false, and leaves the account unchanged, if that many bytes are not permitted.
  bool set(std::size_t bytes) {
    if (!account_ || bytes == bytes_) return true;
    if (!account_(bytes_, bytes)) return false;
    bytes_ = bytes;
    return true;
  }

 private:
  Account account_;
  std::size_t bytes_ = 0;
};

}  // namespace mpixrma::nam
