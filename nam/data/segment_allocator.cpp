#include "nam/data/segment_allocator.hpp"

#include <iterator>

namespace mpixrma::nam {

SegmentAllocator::SegmentAllocator(std::uint64_t bytes) {
  if (bytes >= granularity) add(0, bytes / granularity * granularity);
}

void SegmentAllocator::add(std::uint64_t offset, std::uint64_t length) {
  free_.emplace(offset, length);
  by_length_.emplace(length, offset);
  free_bytes_ += length;
}

void SegmentAllocator::remove(Free::iterator piece) {
  by_length_.erase({piece->second, piece->first});
  free_bytes_ -= piece->second;
  free_.erase(piece);
}

std::optional<std::uint64_t> SegmentAllocator::take(std::uint64_t bytes) {
  std::uint64_t const length = footprint(bytes);
  if (length < bytes) return std::nullopt;
  if (length == 0) return 0;
  auto const found = by_length_.lower_bound({length, 0});
  if (found == by_length_.end()) return std::nullopt;
  std::uint64_t const offset = found->second;
  (void)take_at(offset, length);
  return offset;
}

bool SegmentAllocator::take_at(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t const length = footprint(bytes);
  if (length == 0) return true;
  auto piece = free_.upper_bound(offset);
  if (piece == free_.begin()) return false;
  --piece;
  auto const [begin, there] = *piece;
  if (offset - begin > there || length > there - (offset - begin)) return false;
  remove(piece);
  if (offset != begin) add(begin, offset - begin);
  if (offset + length != begin + there) add(offset + length, begin + there - offset - length);
  return true;
}

void SegmentAllocator::give_back(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t length = footprint(bytes);
  if (length == 0) return;
  auto const next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    auto const before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      length += before->second;
      remove(before);
    }
  }
  if (next != free_.end() && offset + length == next->first) {
    length += next->second;
    remove(next);
  }
  add(offset, length);
}

}  // namespace mpixrma::nam
