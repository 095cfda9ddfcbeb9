/// The limit of freed memory that a process keeps. Allocating and freeing pages costs more than copying to
/// them, so programs that repeatedly allocate and free the same arrays reuse their pages.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

class IdleMemory {
 public:
  /// `bytes` is the maximum number of bytes to keep.
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }
  std::size_t limit() const noexcept { return limit_; }

  /// Whether `bytes` more bytes may be kept in addition to `kept`: within the limit, and while the machine
  /// has several times as much left for other processes.
  bool may_keep(std::size_t bytes, std::size_t kept) noexcept;

 private:
  std::size_t limit_ = 0;
  std::size_t left_ = 0;  ///< bytes that may be kept before the next check of the free memory
};

}  // namespace mpixrma::engine
