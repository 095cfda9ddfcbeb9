/// Page tables of mapped regions are prefaulted where accesses cause page faults and ahead of them, nowhere
/// else.
#include "engine/origin/page_prefaulter.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "engine/runtime/engine.hpp"
#include "tests/support/job.hpp"

namespace mpixrma::engine {
namespace {

using test::Rank;
using test::run_job;

constexpr std::size_t page = 4096;
constexpr std::size_t chunk = PrefaultedRegion::pages_of_chunk * page;

FileDescriptor pagemap() { return FileDescriptor(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)); }

/// Returns the number of pages of the range that are in this process's page tables.
std::size_t entered(std::byte const* begin, std::size_t bytes) {
  FileDescriptor const map = pagemap();  // of this process, which may be a child
  std::vector<std::uint64_t> entries(bytes / page);
  auto const place = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(begin) / page * sizeof entries[0]);
  std::size_t const wanted = entries.size() * sizeof entries[0];
  EXPECT_EQ(::pread(map.get(), entries.data(), wanted, place), static_cast<ssize_t>(wanted));
  std::size_t count = 0;
  for (std::uint64_t const entry : entries) count += entry >> 63;
  return count;
}

bool system_can_fill() {
  std::vector<std::byte> memory(2 * page);
  auto const begin = (reinterpret_cast<std::uintptr_t>(memory.data()) + page - 1) / page * page;
  bool const populates = ::madvise(reinterpret_cast<void*>(begin), page, 22) == 0;  // MADV_POPULATE_READ
  return populates && pagemap();
}

/// A file of several chunks, mapped twice: by its owner, and as by another process.
class PrefaultedRegionTest : public ::testing::Test {
 protected:
  static constexpr std::size_t chunks = 8;

  void SetUp() override {
    if (!system_can_fill()) GTEST_SKIP() << "no MADV_POPULATE_READ, or no /proc/self/pagemap";
    ASSERT_EQ(create_shared("page-prefaulter-test", chunks * chunk, &file), Status::ok);
    owner = Mapping::of(file, chunks * chunk, chunk);
    mapping = Mapping::of(file, chunks * chunk, chunk);
    ASSERT_TRUE(owner && mapping);
    (void)::madvise(mapping.base(), chunks * chunk, MADV_NOHUGEPAGE);
    (void)::madvise(owner.base(), chunks * chunk, MADV_NOHUGEPAGE);
  }
  void allocate(std::size_t first_page, std::size_t pages) const {
    for (std::size_t i = first_page; i < first_page + pages; ++i) owner.base()[i * page] = std::byte{1};
  }
  std::size_t allocated() const {
    struct stat status {};
    EXPECT_EQ(::fstat(file.get(), &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512 / page;
  }
  std::byte& at(std::size_t number) const { return mapping.base()[number * page]; }
  std::size_t entered_in(std::size_t number) const { return entered(mapping.base() + number * chunk, chunk); }
  static void look_at_all(PrefaultedRegion& region) {
    for (std::size_t i = 0; i < region.chunks(); ++i)
      ASSERT_NE(region.step(), PrefaultedRegion::Step::unsupported);
  }

  FileDescriptor file;
  Mapping owner;
  Mapping mapping;
  FileDescriptor map = pagemap();
};

TEST_F(PrefaultedRegionTest, PrefaultsAccessedChunksAndNextOne) {
  allocate(0, chunks * PrefaultedRegion::pages_of_chunk);
  PrefaultedRegion region(mapping.base(), mapping.length(), map.get());
  look_at_all(region);
  EXPECT_EQ(entered(mapping.base(), mapping.length()), 0u) << "nothing was accessed";
  at(2 * PrefaultedRegion::pages_of_chunk + 7) = std::byte{2};
  look_at_all(region);
  EXPECT_EQ(entered_in(1), 0u);
  EXPECT_EQ(entered_in(2), PrefaultedRegion::pages_of_chunk);
  EXPECT_EQ(entered_in(3), PrefaultedRegion::pages_of_chunk);
  EXPECT_EQ(entered_in(4), 0u);
  EXPECT_FALSE(region.is_full());
}

TEST_F(PrefaultedRegionTest, PrefaultsFurtherAheadOfContinuedAccesses) {
  allocate(0, chunks * PrefaultedRegion::pages_of_chunk);
  PrefaultedRegion region(mapping.base(), mapping.length(), map.get());
  at(0) = std::byte{2};
  look_at_all(region);
  EXPECT_EQ(entered_in(2), 0u);
  at(2 * PrefaultedRegion::pages_of_chunk) = std::byte{2};
  look_at_all(region);
  EXPECT_EQ(entered_in(4), PrefaultedRegion::pages_of_chunk)
      << "two chunks were prefaulted in front of the third";
  EXPECT_EQ(entered_in(5), 0u);
}

TEST_F(PrefaultedRegionTest, DoesNotPrefaultHoles) {
  allocate(10, 20);
  allocate(100, 1);
  std::size_t const before = allocated();
  PrefaultedRegion region(mapping.base(), mapping.length(), map.get());
  at(12) = std::byte{2};
  look_at_all(region);
  EXPECT_EQ(entered_in(0), 21u);
  EXPECT_EQ(allocated(), before);
  at(11) = std::byte{3};
  look_at_all(region);
  EXPECT_EQ(allocated(), before);
}

TEST_F(PrefaultedRegionTest, PrefaultsAgainWhenMoreIsAllocatedAndAccessed) {
  allocate(0, 10);
  PrefaultedRegion region(mapping.base(), mapping.length(), map.get());
  at(3) = std::byte{2};
  look_at_all(region);
  EXPECT_EQ(entered_in(0), 10u);
  allocate(200, 50);
  look_at_all(region);
  EXPECT_EQ(entered_in(0), 10u) << "without an access nothing is prefaulted";
  at(220) = std::byte{2};
  look_at_all(region);
  EXPECT_EQ(entered_in(0), 60u);
}

TEST_F(PrefaultedRegionTest, RestartsAfterRemovalOfPages) {
  allocate(0, chunks * PrefaultedRegion::pages_of_chunk);
  PrefaultedRegion region(mapping.base(), mapping.length(), map.get());
  for (std::size_t i = 0; i < chunks; ++i) at(i * PrefaultedRegion::pages_of_chunk) = std::byte{2};
  look_at_all(region);
  EXPECT_TRUE(region.is_full());
  release_pages(file, 0, mapping.length());
  allocate(0, PrefaultedRegion::pages_of_chunk);
  region.renew();
  EXPECT_FALSE(region.is_full());
  at(5) = std::byte{2};
  look_at_all(region);
  EXPECT_EQ(entered_in(0), PrefaultedRegion::pages_of_chunk);
}

TEST_F(PrefaultedRegionTest, CoversRegionsThatBeginAndEndWithinAChunk) {
  allocate(0, chunks * PrefaultedRegion::pages_of_chunk);
  std::size_t const first = 496;  // the kernel maps 16 pages at an access
  std::size_t const pages = 2 * PrefaultedRegion::pages_of_chunk;
  PrefaultedRegion region(&at(first), pages * page, map.get());
  EXPECT_EQ(region.chunks(), 3u);
  at(first) = std::byte{2};
  at(first + pages - 1) = std::byte{2};
  look_at_all(region);
  EXPECT_TRUE(region.is_full());
  EXPECT_EQ(entered(mapping.base(), first * page), 0u);
  EXPECT_EQ(entered(&at(first + pages), mapping.length() - (first + pages) * page), 0u);
}

TEST_F(PrefaultedRegionTest, WatchesEndWhileTheThreadPrefaults) {
  allocate(0, chunks * PrefaultedRegion::pages_of_chunk);
  PagePrefaulter prefaulter;
  for (int round = 0; round < 50; ++round) {
    Mapping other = Mapping::of(file, chunks * chunk, chunk);
    ASSERT_TRUE(other);
    PagePrefaulter::Watch watch = prefaulter.watch(other);
    ASSERT_TRUE(watch);
    for (std::size_t i = 0; i < other.length() / page; i += 3) other.base()[i * page] = std::byte{2};
    watch.renew();
    PagePrefaulter::Watch moved = std::move(watch);
    moved.end();
    EXPECT_FALSE(moved);
    std::byte* const gone = other.base();
    other = Mapping();
    EXPECT_EQ(::msync(gone, page, MS_ASYNC), -1) << "the prefaulter must not need the mapping any more";
  }
}

/// Stores to distant pages, one after the other, until pages between them are entered, too.
TEST(PagePrefaulter, FillsWindowsOfNeighbours) {
  if (!system_can_fill()) GTEST_SKIP() << "no MADV_POPULATE_READ, or no /proc/self/pagemap";
  constexpr std::size_t bytes = 16 * chunk;
  run_job(
      2, [](mpix_engine_config&) {},
      [](Rank& rank) {
        void* memory = nullptr;
        if (rank.rank() == 1) {
          ASSERT_EQ(rank.engine().memory.allocate(bytes, &memory), Status::ok);
          rank.publish(0, memory);
        }
        rank.barrier();
        if (rank.rank() == 0) {
          std::byte* const mapped = rank.engine().peer_memory.map(rank.peer(1), rank.published(1, 0), bytes);
          ASSERT_NE(mapped, nullptr);
          bool prefaulted = false;
          // On a busy machine the prefaulter may be late, or the faults too few.
          for (int attempts = 0; attempts < 50 && !prefaulted; ++attempts) {
            ASSERT_EQ(::madvise(mapped, bytes, MADV_DONTNEED), 0);
            std::size_t accessed = 0;
            auto const has_prefaulted = [&] { return entered(mapped, bytes) > accessed + 256; };
            while (accessed < bytes / page / 2 && !has_prefaulted()) {
              for (int i = 0; i < 64; ++i, ++accessed)
                mapped[accessed * 5 % (bytes / page) * page] = std::byte{1};
              std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
            for (int looks = 0; looks < 100 && !prefaulted; ++looks) {
              std::this_thread::sleep_for(std::chrono::microseconds(200));
              prefaulted = has_prefaulted();
            }
          }
          EXPECT_TRUE(prefaulted) << "no pages but the accessed ones were entered";
        }
        rank.barrier();
        if (rank.rank() == 1) {
          EXPECT_EQ(rank.engine().memory.free(memory), Status::ok);
        }
      });
}

TEST(PagePrefaulter, IsDisabledByTheParameter) {
  constexpr std::size_t bytes = 4 * chunk;
  run_job(
      2, [](mpix_engine_config& config, int) { config.prefault = 0; },
      [](Rank& rank) {
        void* memory = nullptr;
        if (rank.rank() == 1) {
          // Huge pages would be entered as a whole: the memory gets its pages after the call of madvise().
          ASSERT_EQ(rank.engine().memory.allocate(bytes, {.lazy = true}, &memory), Status::ok);
          (void)::madvise(memory, bytes, MADV_NOHUGEPAGE);
          std::memset(memory, 1, bytes);
          rank.publish(0, memory);
        }
        rank.barrier();
        if (rank.rank() == 0) {
          std::byte* const mapped = rank.engine().peer_memory.map(rank.peer(1), rank.published(1, 0), bytes);
          ASSERT_NE(mapped, nullptr);
          (void)::madvise(mapped, bytes, MADV_NOHUGEPAGE);
          for (std::size_t i = 0; i < bytes / page / 2; ++i) {
            mapped[2 * i * page] = std::byte{1};
            if (i % 256 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          }
          EXPECT_EQ(entered(mapped, bytes), bytes / page / 2);
        }
        rank.barrier();
        if (rank.rank() == 1) {
          EXPECT_EQ(rank.engine().memory.free(memory), Status::ok);
        }
      });
}

}  // namespace
}  // namespace mpixrma::engine
