/// Allocation of pieces of a grant's memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <map>

#include "nam/data/segment_allocator.hpp"
#include "nam/data/segment_list.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::nam {
namespace {

/// Compares the allocator with a list of allocated pieces: pieces never overlap, and at the end all memory is
/// free in one piece.
TEST(SegmentAllocatorTest, RandomPiecesNeverOverlapAndMergeWhenFreed) {
  std::mt19937_64 random(test::seed());
  constexpr std::uint64_t space = 64u << 20;
  SegmentAllocator allocator(space);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (int round = 0; round < 20000 / test::slowness; ++round) {
    if (taken.empty() || random() % 2 == 0) {
      std::uint64_t const bytes = 1 + random() % (random() % 2 == 0 ? 8192u : 1u << 20);
      auto const offset = allocator.take(bytes);
      if (!offset) continue;
      auto const next = taken.lower_bound(*offset);
      EXPECT_TRUE(next == taken.end() || *offset + bytes <= next->first);
      EXPECT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= *offset);
      ASSERT_TRUE(taken.emplace(*offset, SegmentAllocator::footprint(bytes)).second);
    } else {
      auto const piece = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      allocator.give_back(piece->first, piece->second);
      taken.erase(piece);
    }
  }
  std::uint64_t used = 0;
  for (auto const& [offset, bytes] : taken) used += bytes;
  EXPECT_EQ(allocator.free_bytes(), space - used);
  for (auto const& [offset, bytes] : taken) allocator.give_back(offset, bytes);
  EXPECT_EQ(allocator.largest_free(), space);
}

/// After a long time at half full, with pieces of many sizes, a tenth of the space can still be allocated in
/// one piece.
TEST(SegmentAllocatorTest, DoesNotFragmentWithoutEnd) {
  std::mt19937_64 random(test::seed());
  constexpr std::uint64_t space = 256u << 20;
  SegmentAllocator allocator(space);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (int round = 0; round < 100000 / test::slowness; ++round) {
    if (allocator.free_bytes() > space / 2) {
      std::uint64_t const bytes = std::uint64_t{4096} << random() % 10;
      if (auto const offset = allocator.take(bytes)) taken.emplace_back(*offset, bytes);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      allocator.give_back(taken.back().first, taken.back().second);
      taken.pop_back();
    }
  }
  EXPECT_GT(allocator.largest_free(), space / 10);
}

TEST(SegmentAllocatorTest, EmptyPieceFitsIfAllIsTaken) {
  SegmentAllocator allocator(4096);
  ASSERT_TRUE(allocator.take(4096));
  EXPECT_TRUE(allocator.take(0));
  EXPECT_FALSE(allocator.take(1));
}

TEST(SegmentAllocatorTest, TakesPieceAtOffsetOnce) {
  SegmentAllocator allocator(10 * 4096);
  EXPECT_TRUE(allocator.take_at(4096, 8192));
  EXPECT_FALSE(allocator.take_at(8192, 1));
  EXPECT_FALSE(allocator.take_at(9 * 4096, 8192));
  EXPECT_FALSE(allocator.take_at(UINT64_MAX - 4096, 8192));
  EXPECT_TRUE(allocator.take_at(9 * 4096, 4096));
  EXPECT_EQ(allocator.take(7 * 4096), std::nullopt);
  EXPECT_EQ(allocator.take(6 * 4096), 3u * 4096);
}

/// The list in the file is the one in memory, whichever places of the file are free.
TEST(SegmentListTest, NextProcessFindsWhatWasNotRemoved) {
  std::mt19937_64 random(test::seed());
  SegmentList list;
  std::map<std::string, std::uint64_t> kept;
  for (int round = 0; round < 5000 / test::slowness; ++round) {
    std::string const window = "window" + std::to_string(random() % 2000);
    if (random() % 3 == 0) {
      list.remove(window);
      kept.erase(window);
    } else {
      std::uint64_t const offset = 4096 * (random() % 100);
      list.add({window, offset, offset + 1});
      kept.emplace(window, offset);  // the first one
    }
  }
  SegmentList const next{engine::FileDescriptor(::fcntl(list.descriptor(), F_DUPFD_CLOEXEC, 0))};
  std::map<std::string, std::uint64_t> found;
  for (SegmentList::Segment const& each : next.segments()) {
    EXPECT_EQ(each.bytes, each.offset + 1);
    found.emplace(each.window, each.offset);
  }
  EXPECT_EQ(found, kept);
}

TEST(SegmentListTest, WindowThatIsInTheFileTwiceLeavesTheListUsable) {
  SegmentList list;
  list.add({"window", 4096, 100});
  std::array<char, 128> record{};
  ASSERT_EQ(::pread(list.descriptor(), record.data(), record.size(), 0), 128);
  ASSERT_EQ(::pwrite(list.descriptor(), record.data(), record.size(), 128), 128);
  SegmentList next{engine::FileDescriptor(::fcntl(list.descriptor(), F_DUPFD_CLOEXEC, 0))};
  next.add({"another", 8192, 100});
  SegmentList const last{engine::FileDescriptor(::fcntl(list.descriptor(), F_DUPFD_CLOEXEC, 0))};
  EXPECT_EQ(last.segments().size(), 2u);
}

}  // namespace
}  // namespace mpixrma::nam
