/// The account of the bytes that a channel keeps of messages that are not complete, or not sent yet. Who has
/// many channels bounds them by it together: each of them alone may keep a whole message.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace mpixrma::nam {

class KeptBytes {
 public:
  /// Told how many bytes were kept, and how many are from now on; false: so many may not be. Fewer always
  /// may.
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

  /// False: the bytes are more than may be kept, and the account is as before.
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
