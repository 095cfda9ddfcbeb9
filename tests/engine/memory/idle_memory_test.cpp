/// Memory of freed segments: the amount that is kept, and the amount that is returned to the system.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/memory/page_ranges.hpp"
#include "tests/support/segments.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::size_t mebibyte = 1024 * 1024;

using Range = PageRanges::Range;

TEST(PageRanges, AdjacentRangesMergeAndRemovalReturnsGaps) {
  PageRanges ranges;
  ranges.add({8, 16});
  ranges.add({24, 32});
  ranges.add({16, 24});
  EXPECT_EQ(ranges.all(), (std::vector<Range>{{8, 32}}));
  EXPECT_EQ(ranges.remove({12, 20}), std::vector<Range>{});
  EXPECT_EQ(ranges.remove({0, 40}), (std::vector<Range>{{0, 8}, {12, 20}, {32, 40}}));
  EXPECT_EQ(ranges.bytes(), 0u);
  EXPECT_EQ(ranges.remove({0, 4}), (std::vector<Range>{{0, 4}}));
}

TEST(PageRanges, RandomChangesMatchModel) {
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  PageRanges ranges;
  std::set<std::size_t> model;
  for (int i = 0; i < 2000; ++i) {
    std::size_t const begin = random() % 100;
    std::size_t const end = begin + 1 + random() % 20;
    std::set<std::size_t> missing;
    for (Range const& range : ranges.remove({begin, end})) {
      for (std::size_t at = range.begin; at < range.end; ++at) missing.insert(at);
    }
    for (std::size_t at = begin; at < end; ++at) EXPECT_EQ(missing.contains(at), model.erase(at) == 0) << at;
    if (random() % 2 == 0) {
      ranges.add({begin, end});
      for (std::size_t at = begin; at < end; ++at) model.insert(at);
    }
    ASSERT_EQ(ranges.bytes(), model.size());
  }
}

class IdleSegments : public Segments {
 protected:
  static constexpr std::size_t kept = 2 * mebibyte;
  void SetUp() override { ASSERT_EQ(table.open(owner, 64 * 1024, kept), Status::ok); }

  /// Allocates, writes `mark` and frees; the mark survives if the pages are kept.
  void leave_mark(std::size_t bytes, AllocationHints const& hints = {}) {
    void* const base = allocate(bytes, hints);
    std::memset(base, mark, bytes);
    EXPECT_EQ(free(base), Status::ok);
  }
  static bool is_marked(void const* base, std::size_t bytes, int value) {
    auto const* const at = static_cast<unsigned char const*>(base);
    return std::all_of(at, at + bytes, [value](unsigned char byte) { return byte == value; });
  }
  static constexpr int mark = 0x5a;
};

TEST_F(IdleSegments, NextAllocationReusesPages) {
  leave_mark(mebibyte);
  SegmentTable::Reservation reservation;
  ASSERT_EQ(table.reserve(mebibyte, {}, &reservation), Status::ok);
  EXPECT_EQ(reservation.uncommitted, nullptr) << "all pages are there";
  void* base = nullptr;
  ASSERT_EQ(table.publish(reservation, &base), Status::ok);
  EXPECT_TRUE(is_marked(base, mebibyte, mark));
}

TEST_F(IdleSegments, LargerAllocationAddsMissingPagesOnly) {
  leave_mark(2 * mebibyte);
  void* const first = allocate(mebibyte);
  EXPECT_TRUE(is_marked(first, mebibyte, mark));
  EXPECT_EQ(free(first), Status::ok);
  EXPECT_TRUE(is_marked(allocate(2 * mebibyte), 2 * mebibyte, mark));
}

TEST_F(IdleSegments, MemoryOverTheLimitIsReturned) {
  leave_mark(3 * mebibyte);
  EXPECT_TRUE(is_marked(allocate(3 * mebibyte), 3 * mebibyte, 0));
}

TEST_F(IdleSegments, MemoryFreedBeforeMakesRoom) {
  void* const first = allocate(3 * mebibyte / 2);
  void* const second = allocate(3 * mebibyte / 2);
  std::memset(first, mark, 3 * mebibyte / 2);
  std::memset(second, mark, 3 * mebibyte / 2);
  EXPECT_EQ(free(first), Status::ok);
  EXPECT_EQ(free(second), Status::ok);
  EXPECT_TRUE(is_marked(allocate(3 * mebibyte / 2), 3 * mebibyte / 2, mark)) << "the second";
  EXPECT_TRUE(is_marked(allocate(3 * mebibyte / 2), 3 * mebibyte / 2, 0)) << "the first";
}

TEST_F(IdleSegments, LazyMemoryIsNotKept) {
  leave_mark(mebibyte, {.lazy = true});
  SegmentTable::Reservation reservation;
  ASSERT_EQ(table.reserve(mebibyte, {}, &reservation), Status::ok);
  EXPECT_NE(reservation.uncommitted, nullptr);
  ASSERT_EQ(table.commit(reservation), Status::ok);
  void* base = nullptr;
  ASSERT_EQ(table.publish(reservation, &base), Status::ok);
  EXPECT_TRUE(is_marked(base, mebibyte, 0));
}

TEST_F(IdleSegments, DroppedMemoryIsNotReused) {
  leave_mark(mebibyte);
  EXPECT_TRUE(drop_idle());
  EXPECT_FALSE(drop_idle());
  EXPECT_TRUE(is_marked(allocate(mebibyte), mebibyte, 0));
}

}  // namespace
}  // namespace mpixrma::engine
