/// First-fit allocator for one region: records the free ranges of [0, size), merged where adjacent.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace mpixrma::engine {

class FreeRanges {
 public:
  explicit FreeRanges(std::size_t size) : size_(size) {
    if (size != 0) ranges_.emplace(0, size);
  }

  /// Allocates `bytes` bytes and returns their offset, such that offset + skew is a multiple of `alignment`
  /// (a power of two).
  std::optional<std::size_t> take(std::size_t bytes, std::size_t alignment, std::size_t skew = 0);

  /// Allocates [offset, offset + bytes), which must be free.
  void take_at(std::size_t offset, std::size_t bytes);

  /// Frees [offset, offset + bytes).
  void give_back(std::size_t offset, std::size_t bytes);

  bool all_free() const noexcept {
    return size_ == 0 || (ranges_.size() == 1 && ranges_.begin()->second == size_);
  }

 private:
  std::size_t size_;
  std::map<std::size_t, std::size_t> ranges_;  ///< offset -> length
};

}  // namespace mpixrma::engine
