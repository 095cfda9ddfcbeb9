/// How much memory a process keeps that it has freed. Pages cost more to be taken and given back than to be
/// copied to: programs that allocate and free the same arrays in turn find theirs again.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

class IdleMemory {
 public:
  /// `most`: bytes that are kept at most.
  void set_limit(std::size_t most) noexcept { most_ = most; }
  std::size_t limit() const noexcept { return most_; }

  /// Whether `bytes` bytes more may be kept beside `kept` that are: within the limit, and as long as the
  /// machine has several times as much left for others.
  bool may_keep(std::size_t bytes, std::size_t kept) noexcept;

 private:
  std::size_t most_ = 0;
  std::size_t left_ = 0;  ///< that may be kept before the next look at what the machine has
};

}  // namespace mpixrma::engine
