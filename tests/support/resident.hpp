/// Counts the resident pages of memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mpixrma::test {

/// Returns the number of resident pages among the pages of `bytes` bytes.
inline std::size_t resident_pages(void* base, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(::mincore(base, bytes, pages.data()), 0);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](auto p) { return p & 1; }));
}

}  // namespace mpixrma::test
