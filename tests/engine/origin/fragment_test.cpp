/// Operations split into messages: together the fragments cover each byte of the layout once, in order.
#include "engine/origin/fragment.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/net/wire.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::engine {
namespace {

using Offsets = std::vector<std::ptrdiff_t>;

/// Appends the offsets of bytes [position, position + bytes) of the layout's data.
void append_offsets(Layout const& layout, std::size_t position, std::size_t bytes, Offsets& offsets) {
  LayoutCursor cursor(layout);
  cursor.seek(position);
  while (bytes != 0) {
    LayoutRun const run = cursor.next(bytes);
    ASSERT_NE(run.length, 0u);
    for (std::size_t i = 0; i < run.length; ++i)
      offsets.push_back(run.offset + static_cast<std::ptrdiff_t>(i));
    bytes -= run.length;
  }
}

/// Checks all fragments of the layout; returns their number.
std::uint64_t expect_cover(Layout const& layout, FragmentLimits const& limits) {
  std::size_t const total = layout.size();
  Offsets expected;
  append_offsets(layout, 0, total, expected);
  Offsets found;
  std::uint64_t count = 0;
  for (std::size_t sent = 0; sent < total; ++count) {
    Fragment const fragment = fragment_at(layout, total, sent, limits);
    EXPECT_EQ(fragment.offset, sent);
    EXPECT_LE(fragment.bytes, limits.bytes);
    EXPECT_EQ(fragment.bytes % limits.element, 0u);
    if (fragment.bytes == 0) return 0;
    std::size_t const end = fragment.layout_offset + fragment.bytes;
    Layout const described = fragment.whole ? layout : Layout{end, {}, fragment.runs};
    EXPECT_LE(described.runs.size(), limits.runs);
    EXPECT_TRUE(described.dims.empty() || described.runs.size() <= wire::max_repeated_runs);
    append_offsets(described, fragment.layout_offset, fragment.bytes, found);
    sent += fragment.bytes;
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(count_fragments(layout, total, limits), count);
  return count;
}

/// `count` runs of `length` bytes that do not follow one progression.
std::vector<LayoutRun> irregular(std::size_t count, std::size_t length) {
  std::vector<LayoutRun> runs;
  for (std::size_t i = 0; i < count; ++i)
    runs.push_back({static_cast<std::ptrdiff_t>(2 * length * i + 8 * (i % 3 % 2)), length});
  return runs;
}

TEST(Fragments, ListThatFitsOneMessageIsNotCopied) {
  FragmentLimits const limits{.bytes = 16384, .runs = 1024, .element = 8};
  std::vector<LayoutRun> const runs = irregular(1024, 16);
  Layout const layout{16384, {}, runs};
  EXPECT_EQ(expect_cover(layout, limits), 1u);
  Fragment const fragment = fragment_at(layout, layout.size(), 0, limits);
  EXPECT_TRUE(fragment.whole);
  EXPECT_TRUE(fragment.runs.empty());
}

TEST(Fragments, EachOfSeveralCarriesItsPartOfALongList) {
  std::vector<LayoutRun> const runs = irregular(1024, 16);
  Layout const layout{16384, {}, runs};
  EXPECT_EQ(expect_cover(layout, {.bytes = 16384, .runs = 1023, .element = 8}), 2u) << "one run too many";
  EXPECT_EQ(expect_cover(layout, {.bytes = 16320, .runs = 1024, .element = 8}), 2u) << "too many bytes";
  EXPECT_FALSE(fragment_at(layout, layout.size(), 0, {.bytes = 16320, .runs = 1024, .element = 8}).whole);
}

TEST(Fragments, RepeatedLongListIsNotSentWhole) {
  std::vector<LayoutRun> const runs = irregular(wire::max_repeated_runs + 1, 8);
  Dimension const twice[] = {{2, 100000}};
  Layout const layout{8 * runs.size(), twice, runs};
  EXPECT_EQ(expect_cover(layout, {.bytes = 16384, .runs = 1024, .element = 8}), 1u);
  EXPECT_FALSE(fragment_at(layout, layout.size(), 0, {.bytes = 16384, .runs = 1024, .element = 8}).whole);
}

TEST(Fragments, CoverRandomListsOnce) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 300; ++round) {
    std::size_t const element = random() % 2 == 0 ? 1 : 8;
    std::vector<LayoutRun> runs;
    std::size_t block = 0;
    std::ptrdiff_t at = 0;
    for (std::size_t i = 1 + random() % 150; i-- > 0;) {
      std::size_t const length = element * (random() % 12);  // also empty runs
      runs.push_back({at, length});
      block += length;
      at += static_cast<std::ptrdiff_t>(length + element * (random() % 3));
    }
    if (block == 0) continue;
    Dimension const dims[] = {{1 + random() % 3, at + 8}};
    bool const repeated = random() % 3 == 0;
    Layout const layout{block, repeated ? std::span<Dimension const>(dims) : std::span<Dimension const>(),
                        runs};
    (void)expect_cover(layout,
                       {.bytes = 64 * (1 + random() % 30), .runs = 1 + random() % 200, .element = element});
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace mpixrma::engine
