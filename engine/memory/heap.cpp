#include "engine/memory/heap.hpp"

#include <iterator>

namespace mpixrma::engine {

std::optional<std::size_t> FreeRanges::take(std::size_t bytes, std::size_t alignment, std::size_t skew) {
  for (auto it = ranges_.begin(); it != ranges_.end(); ++it) {
    auto const [offset, length] = *it;
    std::size_t const start = ((offset + skew + alignment - 1) & ~(alignment - 1)) - skew;
    std::size_t const lead = start - offset;
    if (length < lead || length - lead < bytes) continue;
    std::size_t const rest = length - lead - bytes;
    if (lead == 0) {
      ranges_.erase(it);
    } else {
      it->second = lead;
    }
    if (rest != 0) ranges_.emplace(start + bytes, rest);
    return start;
  }
  return std::nullopt;
}

void FreeRanges::take_at(std::size_t offset, std::size_t bytes) {
  auto const it = std::prev(ranges_.upper_bound(offset));
  auto const [begin, length] = *it;
  std::size_t const rest = begin + length - (offset + bytes);
  if (rest != 0) ranges_.emplace(offset + bytes, rest);
  if (begin == offset) {
    ranges_.erase(it);
  } else {
    it->second = offset - begin;
  }
}

void FreeRanges::give_back(std::size_t offset, std::size_t bytes) {
  auto next = ranges_.lower_bound(offset);
  if (next != ranges_.begin()) {
    auto const before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      ranges_.erase(before);
    }
  }
  if (next != ranges_.end() && offset + bytes == next->first) {
    bytes += next->second;
    ranges_.erase(next);
  }
  ranges_.emplace(offset, bytes);
}

}  // namespace mpixrma::engine
