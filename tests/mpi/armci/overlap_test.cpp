/// The search for overlapping segments, against comparing all pairs.
#include "armci/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "tests/support/random_layout.hpp"

namespace armci {
namespace {

using mpixrma::engine::LayoutRun;

bool any_pair_overlaps(std::vector<LayoutRun> const& segments) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      auto const end = [](LayoutRun const& s) { return s.offset + static_cast<std::ptrdiff_t>(s.length); };
      LayoutRun const& a = segments[i];
      LayoutRun const& b = segments[j];
      bool const both = a.length != 0 && b.length != 0;
      if (both && a.offset < end(b) && b.offset < end(a)) return true;
    }
  }
  return false;
}

TEST(Overlap, MatchesComparisonOfAllPairs) {
  std::mt19937_64 random(mpixrma::test::seed());
  int overlapping = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<LayoutRun> segments(random() % 12);
    for (LayoutRun& segment : segments) {
      segment.length = 1 + random() % 4;
      segment.offset = static_cast<std::ptrdiff_t>(random() % 200) - 100;
    }
    bool const expected = any_pair_overlaps(segments);
    ASSERT_EQ(overlap(segments), expected);
    overlapping += expected ? 1 : 0;
  }
  EXPECT_GT(overlapping, 500);
  EXPECT_LT(overlapping, 4500);
}

TEST(Overlap, SegmentsThatTouchDoNotOverlap) {
  std::vector<LayoutRun> const ascending = {{0, 8}, {8, 8}, {16, 8}};
  std::vector<LayoutRun> const descending = {{16, 8}, {8, 8}, {0, 8}};
  std::vector<LayoutRun> const equal = {{0, 8}, {0, 8}};
  EXPECT_FALSE(overlap(ascending));
  EXPECT_FALSE(overlap(descending));
  EXPECT_TRUE(overlap(equal));
  EXPECT_FALSE(overlap({}));
}

/// Comparisons, not seconds: at most 3 N (log2 N + 1), where comparing all pairs takes N^2 / 2.
TEST(Overlap, ComparesInNLogN) {
  std::mt19937_64 random(mpixrma::test::seed());
  for (std::size_t count : {std::size_t{1000}, std::size_t{16'000}, std::size_t{256'000}}) {
    std::vector<LayoutRun> segments(count);
    for (std::size_t i = 0; i < count; ++i) segments[i] = {static_cast<std::ptrdiff_t>(24 * i), 16};
    std::size_t comparisons = 0;
    auto const before = [&](LayoutRun const& a, LayoutRun const& b) {
      ++comparisons;
      return a.offset < b.offset;
    };
    EXPECT_FALSE(overlap_in_order(segments, before));
    EXPECT_LE(comparisons, count);  // in ascending order
    std::shuffle(segments.begin(), segments.end(), random);
    comparisons = 0;
    EXPECT_FALSE(overlap_in_order(segments, before));
    EXPECT_GT(comparisons, count);
    EXPECT_LE(comparisons, 3 * count * static_cast<std::size_t>(std::bit_width(count)));
    segments.back() = segments.front();
    EXPECT_TRUE(overlap_in_order(segments, before));
  }
}

}  // namespace
}  // namespace armci
