/// Layouts against a naive enumeration of their bytes.
#include "engine/op/layout/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "engine/op/kernel/kernels.hpp"
#include "engine/op/layout/boxes.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::engine {
namespace {

using test::offsets_of;
using test::RandomLayout;
using test::seed;

TEST(Layout, SizeAndExtentOfSimpleForms) {
  EXPECT_EQ(Layout::contiguous(40).size(), 40u);
  Dimension const rows[] = {{3, 100}, {2, -1000}};
  Layout const grid{8, rows, {}};
  EXPECT_EQ(grid.size(), 48u);
  EXPECT_EQ(grid.extent().begin, -1000);
  EXPECT_EQ(grid.extent().end, 208);
  LayoutRun const list[] = {{50, 4}, {-6, 2}, {0, 0}};
  EXPECT_EQ((Layout{6, {}, list}.extent().begin), -6);
  EXPECT_EQ((Layout{6, {}, list}.extent().end), 54);
  Dimension const none[] = {{0, 8}};
  EXPECT_EQ((Layout{8, none, {}}.size()), 0u);
  EXPECT_EQ((Layout{8, none, {}}.extent().end), 0);
}

TEST(Layout, CursorVisitsTheBytesInOrderFromAnyPosition) {
  auto const start = seed();
  std::mt19937_64 random(start);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE("seed " + std::to_string(start) + " round " + std::to_string(round));
    RandomLayout const made(random, 2000, 1);
    std::vector<std::ptrdiff_t> const expected = offsets_of(made.view());
    ASSERT_EQ(made.view().size(), expected.size());
    std::size_t const from = random() % (expected.size() + 1);
    LayoutCursor cursor(made.view());
    cursor.seek(from);
    ASSERT_EQ(cursor.remaining(), expected.size() - from);
    std::size_t at = from;
    for (;;) {
      LayoutRun const run = cursor.next(1 + random() % 50);
      if (run.length == 0) break;
      for (std::size_t i = 0; i < run.length; ++i)
        ASSERT_EQ(run.offset + static_cast<std::ptrdiff_t>(i), expected[at++]);
    }
    ASSERT_EQ(at, expected.size());
  }
}

TEST(Layout, NormalisedFormHasTheSameBytesAndExtent) {
  auto const start = seed();
  std::mt19937_64 random(start);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE("seed " + std::to_string(start) + " round " + std::to_string(round));
    RandomLayout const made(random, 2000, 1);
    OwnedLayout const normal(made.view());
    ASSERT_EQ(offsets_of(normal.view()), offsets_of(made.view()));
    ASSERT_EQ(normal.view().extent().begin, made.view().extent().begin);
    ASSERT_EQ(normal.view().extent().end, made.view().extent().end);
    ASSERT_LE(normal.view().dims.size(), made.view().dims.size() + 1);
  }
}

TEST(Layout, NormalisationFindsTheSimpleForm) {
  Dimension const touching[] = {{4, 8}, {3, 32}};
  EXPECT_TRUE(OwnedLayout(Layout{8, touching, {}}).view().is_contiguous());
  LayoutRun const regular[] = {{0, 16}, {64, 16}, {128, 16}};
  OwnedLayout const rows(Layout{48, {}, regular});
  EXPECT_TRUE(rows.view().runs.empty());
  ASSERT_EQ(rows.view().dims.size(), 1u);
  EXPECT_EQ(rows.view().dims[0].stride, 64);
  LayoutRun const adjacent[] = {{0, 16}, {16, 8}};
  EXPECT_TRUE(OwnedLayout(Layout{24, {}, adjacent}).view().is_contiguous());
}

void expect_boxes_of_each_part(Layout const& layout, std::mt19937_64& random) {
  std::vector<std::ptrdiff_t> const offsets = offsets_of(layout);
  if (offsets.empty()) return;
  std::size_t const begin = random() % offsets.size();
  std::size_t const bytes = random() % (offsets.size() - begin) + 1;
  std::vector<std::ptrdiff_t> found;
  int boxes = 0;
  for_boxes(layout, begin, bytes, [&](Layout const& box, std::ptrdiff_t base, std::size_t done) {
    EXPECT_EQ(done, found.size());
    for (std::ptrdiff_t const offset : offsets_of(box)) found.push_back(base + offset);
    ++boxes;
  });
  auto const first = offsets.begin() + static_cast<std::ptrdiff_t>(begin);
  EXPECT_EQ(found, std::vector(first, first + static_cast<std::ptrdiff_t>(bytes)));
  auto const runs = static_cast<int>(std::max<std::size_t>(layout.runs.size(), 1));
  bool const few = boxes <= 2 * (static_cast<int>(layout.dims.size()) + runs);
  EXPECT_TRUE(few || layout.dims.size() > max_dimensions) << boxes;
}

TEST(Layout, BoxesAreTheBytesOfAPartInOrder) {
  auto const start = seed();
  std::mt19937_64 random(start);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(start) + " round " + std::to_string(round));
    expect_boxes_of_each_part(RandomLayout(random, 3000, 1 + random() % 8).view(), random);
  }
}

TEST(Layout, BoxesOfMoreDimensionsThanNormalisedLayoutsHave) {
  auto const start = seed();
  std::mt19937_64 random(start);
  std::vector<Dimension> dims(max_dimensions + 2, Dimension{1, 1});
  for (std::size_t const level : {0u, 5u, 16u, 17u}) dims[level] = {3, 100 * (static_cast<int>(level) + 1)};
  for (int round = 0; round < 100; ++round) expect_boxes_of_each_part(Layout{5, dims, {}}, random);
}

TEST(Copy, EveryPairOfLayoutsMovesEachByteToItsPlace) {
  auto const start = seed();
  std::mt19937_64 random(start);
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(start) + " round " + std::to_string(round));
    RandomLayout to(random, 3000, 1);
    RandomLayout from(random, 3000, 1);
    test::trim_to_equal_size(to, from);
    auto const to_offsets = offsets_of(to.view());
    auto const from_offsets = offsets_of(from.view());
    ASSERT_EQ(to_offsets.size(), from_offsets.size());
    std::vector<std::byte> target(to.span_bytes(), std::byte{0});
    std::vector<std::byte> origin(from.span_bytes());
    for (auto& byte : origin) byte = static_cast<std::byte>(random());
    std::vector<std::byte> expected = target;
    for (std::size_t i = 0; i < to_offsets.size(); ++i) {
      expected[to.base() + static_cast<std::size_t>(to_offsets[i])] =
          origin[from.base() + static_cast<std::size_t>(from_offsets[i])];
    }
    copy(target.data() + to.base(), to.view(), origin.data() + from.base(), from.view());
    ASSERT_EQ(target, expected);

    // The same through packed memory, which is packed in two parts.
    std::size_t const bytes = to_offsets.size();
    std::size_t const cut = bytes == 0 ? 0 : random() % bytes;
    std::vector<std::byte> packed(bytes);
    pack(packed.data(), origin.data() + from.base(), from.view(), 0, cut);
    pack(packed.data() + cut, origin.data() + from.base(), from.view(), cut, bytes - cut);
    std::vector<std::byte> again(to.span_bytes(), std::byte{0});
    unpack(again.data() + to.base(), to.view(), 0, packed.data(), bytes);
    ASSERT_EQ(again, expected);
  }
}

TEST(Copy, SmallContiguousCopiesWriteTheirBytesOnly) {
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    std::vector<std::byte> from(bytes + 2, std::byte{7});
    std::vector<std::byte> to(bytes + 2, std::byte{1});
    copy_bytes(to.data() + 1, from.data() + 1, bytes);
    EXPECT_EQ(to.front(), std::byte{1});
    EXPECT_EQ(to.back(), std::byte{1});
    EXPECT_TRUE(std::all_of(to.begin() + 1, to.end() - 1, [](std::byte b) { return b == std::byte{7}; }))
        << bytes;
  }
}

}  // namespace
}  // namespace mpixrma::engine
