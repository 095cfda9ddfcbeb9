/// The sizes of allocations within a region.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page_bytes = 2 * 1024 * 1024;
constexpr std::size_t largest_alignment = 1024 * 1024 * 1024;
// From this size on, an allocation is page-aligned and its pages are allocated in advance; when it is freed,
// they return to the system or are kept for the next such allocation.
constexpr std::size_t large_bytes = 256 * 1024;

constexpr std::size_t round_up(std::size_t value, std::size_t to) noexcept {
  return (value + to - 1) / to * to;
}

/// Returns the bytes that an allocation of `bytes` bytes occupies in its region.
constexpr std::size_t footprint(std::size_t bytes) noexcept {
  return round_up(bytes, bytes >= large_bytes ? page_bytes : cache_line);
}

}  // namespace mpixrma::engine
