/// Allocates pieces of a grant: whole pages, from the smallest free piece that is large enough; a freed piece
/// is merged with free neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace mpixrma::nam {

class SegmentAllocator {
 public:
  static constexpr std::uint64_t granularity = 4096;

  explicit SegmentAllocator(std::uint64_t bytes);

  /// The bytes that a piece of `bytes` bytes takes.
  static constexpr std::uint64_t footprint(std::uint64_t bytes) noexcept {
    return (bytes + granularity - 1) / granularity * granularity;
  }

  /// Allocates a piece and returns its offset; nothing if no free piece is large enough.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  /// Allocates this very piece. Returns false if it is not free.
  bool take_at(std::uint64_t offset, std::uint64_t bytes);
  void give_back(std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  std::uint64_t largest_free() const noexcept { return by_length_.empty() ? 0 : by_length_.rbegin()->first; }

 private:
  using Free = std::map<std::uint64_t, std::uint64_t>;

  void add(std::uint64_t offset, std::uint64_t length);
  void remove(Free::iterator piece);

  Free free_;                                                    ///< offset -> length
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_length_;  ///< (length, offset)
  std::uint64_t free_bytes_ = 0;
};

}  // namespace mpixrma::nam
