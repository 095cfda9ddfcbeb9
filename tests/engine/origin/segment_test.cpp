/// Visibility of segments among processes of one host.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/origin/remote_segments.hpp"
#include "tests/support/random_layout.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/segments.hpp"

namespace mpixrma::engine {
namespace {

TEST_F(Segments, AnotherProcessAccessesThemUntilTheyAreFreed) {
  auto* const memory = static_cast<int*>(allocate(4096));
  static int variable = 0;
  ASSERT_EQ(attach(&variable, sizeof variable), Status::ok);
  in_another_process([&]() -> char const* {
    RemoteSegments seen;
    if (!seen.open(owner, ::getppid(), table.tables_fd(), table.control_fd())) return "open";
    RemoteSegments::Found found;
    auto const address = reinterpret_cast<RemoteAddress>(memory + 5);
    if (!seen.find(address, &found) || !found.mapped || found.length != 4096) return "allocated memory";
    *reinterpret_cast<int*>(static_cast<std::int64_t>(address) + found.delta) = 42;
    if (!seen.find(reinterpret_cast<RemoteAddress>(&variable), &found) || found.mapped) return "a variable";
    return nullptr;
  });
  EXPECT_EQ(memory[5], 42);
  RemoteSegments seen;
  ASSERT_TRUE(seen.open(owner, ::getpid(), table.tables_fd(), table.control_fd()));
  RemoteSegments::Found found;
  ASSERT_TRUE(seen.find(reinterpret_cast<RemoteAddress>(memory), &found));
  EXPECT_EQ(free(memory), Status::ok);
  EXPECT_FALSE(seen.find(reinterpret_cast<RemoteAddress>(memory), &found));
  EXPECT_EQ(detach(&variable), Status::ok);
  EXPECT_FALSE(seen.find(reinterpret_cast<RemoteAddress>(&variable), &found));
}

TEST_F(Segments, IsMappedLaterIfDescriptorsWereShort) {
  auto* const memory = static_cast<int*>(allocate(4096));
  RemoteSegments seen;
  ASSERT_TRUE(seen.open(owner, ::getpid(), table.tables_fd(), table.control_fd()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  int const lowest_free = ::dup(0);
  ASSERT_GE(lowest_free, 0);
  ::close(lowest_free);
  rlimit const none{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  RemoteSegments::Found found;
  auto const address = reinterpret_cast<RemoteAddress>(memory);
  bool const is_found = seen.find(address, &found);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(is_found);
  EXPECT_FALSE(found.mapped);
  std::this_thread::sleep_for(RemoteSegments::retry_interval);
  ASSERT_TRUE(seen.find(address, &found));
  EXPECT_TRUE(found.mapped);
  EXPECT_EQ(free(memory), Status::ok);
}

TEST_F(Segments, HiddenSegmentIsNotFoundAndKeepsItsMemory) {
  auto* const before = static_cast<char*>(allocate(64));
  auto* const memory = static_cast<char*>(allocate(64));
  memory[63] = 9;
  auto const address = reinterpret_cast<RemoteAddress>(memory);
  RemoteSegments seen;
  ASSERT_TRUE(seen.open(owner, ::getpid(), table.tables_fd(), table.control_fd()));
  RemoteSegments::Found found;
  ASSERT_TRUE(seen.find(address, &found));
  ExposureId id{};
  ASSERT_EQ(table.expose({address, 64, Rights::read}, &id), Status::ok);
  EXPECT_EQ(table.expose({address, 65, Rights::read}, &id), Status::bad_argument);
  std::vector<ExposureId> withdrawn;
  ASSERT_EQ(table.hide(memory, &withdrawn), Status::ok);
  EXPECT_EQ(withdrawn, std::vector<ExposureId>{id});
  EXPECT_EQ(table.exposures().find(id), nullptr);
  EXPECT_EQ(table.hide(memory, &withdrawn), Status::ok);
  EXPECT_EQ(table.hide(memory + 1, &withdrawn), Status::bad_argument);
  EXPECT_FALSE(seen.find(address, &found));
  EXPECT_EQ(table.find(address), nullptr);
  EXPECT_NE(table.at(memory), nullptr);
  SegmentTable::Gap const gap = table.gap_around(address + 8);
  EXPECT_EQ(gap.begin, reinterpret_cast<RemoteAddress>(before) + 64);
  EXPECT_GE(gap.end, address + 64);
  EXPECT_NE(allocate(64), memory) << "in use until it is freed";
  EXPECT_EQ(memory[63], 9);
  EXPECT_EQ(free(memory), Status::ok);
  EXPECT_EQ(free(memory), Status::bad_argument);
  EXPECT_EQ(allocate(64), memory);
  EXPECT_TRUE(seen.find(address, &found));
}

TEST_F(Segments, FindsHundredThousandSegments) {
  constexpr std::size_t count = 100000;
  static char memory[count * 32];
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), std::mt19937_64(test::seed()));
  std::vector<RemoteAddress> addresses;
  for (std::size_t const place : places) {
    // Every second one is allocated.
    char* base = memory + place * 32;
    if (place % 2 == 0) base = static_cast<char*>(allocate(16));
    if (place % 2 != 0) {
      ASSERT_EQ(attach(base, 16), Status::ok);
    }
    addresses.push_back(reinterpret_cast<RemoteAddress>(base));
  }
  RemoteSegments seen;
  ASSERT_TRUE(seen.open(owner, ::getpid(), table.tables_fd(), table.control_fd()));
  for (RemoteAddress const address : addresses) {
    RemoteSegments::Found found;
    ASSERT_TRUE(seen.find(address + 8, &found));
    ASSERT_EQ(found.base, address);
  }
  for (RemoteAddress const address : addresses) {
    auto* const base = reinterpret_cast<char*>(address);
    bool const attached = base >= memory && base < memory + sizeof memory;
    ASSERT_EQ(attached ? detach(base) : free(base), Status::ok);
  }
  EXPECT_EQ(table.find(addresses[0]), nullptr);
}

TEST_F(Segments, LargeSegmentsArePopulatedUnlessLazy) {
  constexpr std::size_t bytes = 80 << 20;  // more than one step
  void* const base = allocate(bytes);
  EXPECT_EQ(test::resident_pages(base, bytes), bytes / 4096);
  EXPECT_EQ(free(base), Status::ok);
  AllocationHints hints;
  hints.lazy = true;
  void* const lazy = allocate(bytes, hints);
  EXPECT_EQ(test::resident_pages(lazy, bytes), 0u);
  static_cast<char*>(lazy)[bytes - 1] = 1;
  EXPECT_EQ(test::resident_pages(lazy, bytes), 1u);
  EXPECT_EQ(free(lazy), Status::ok);
}

/// Returns the number of unused huge pages of the system.
long free_huge_pages() {
  std::FILE* const file = std::fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
  long pages = 0;
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages;
}

TEST_F(Segments, LargeSegmentsUseHugePagesIfAvailable) {
  constexpr std::size_t bytes = 4 << 20;  // more than a region
  bool const there_are_some = free_huge_pages() >= 4;
  for (int round = 0; round < 2; ++round) {
    auto* const memory = static_cast<char*>(allocate(bytes));
    std::memset(memory, round + 1, bytes);
    PublishedRange region;
    ASSERT_TRUE(table.tables().regions[0].read(&region));
    struct statfs status {};
    ASSERT_EQ(::fstatfs(static_cast<int>(region.number), &status), 0);
    if (there_are_some) {
      EXPECT_EQ(status.f_bsize, 2 << 20);
    }
    in_another_process([&]() -> char const* {
      RemoteSegments seen;
      if (!seen.open(owner, ::getppid(), table.tables_fd(), table.control_fd())) return "open";
      RemoteSegments::Found found;
      auto const last = reinterpret_cast<RemoteAddress>(memory + bytes - 1);
      if (!seen.find(last, &found) || !found.mapped) return "not mapped";
      char const value = *reinterpret_cast<char*>(static_cast<std::int64_t>(last) + found.delta);
      return value == round + 1 ? nullptr : "value";
    });
    EXPECT_EQ(free(memory), Status::ok);
  }
}

TEST_F(Segments, MoreMemoryThanTheMachineHasIsRefused) {
  auto const memory =
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const before = allocate(1000);
  void* base = nullptr;
  for (std::size_t const bytes : {std::size_t{100} << 40, 4 * memory, memory})
    EXPECT_EQ(allocate(bytes, {}, &base), Status::out_of_memory) << bytes;
  EXPECT_EQ(base, nullptr);
  PublishedRange region;
  EXPECT_FALSE(table.tables().regions[1].read(&region)) << "the file stays";
  AllocationHints hints;
  hints.lazy = true;
  void* const lazy = allocate(2 * memory, hints);
  EXPECT_EQ(free(lazy), Status::ok);
  EXPECT_EQ(free(before), Status::ok);
}
TEST_F(Segments, FreedMemoryIsNotReusedUntilItsPagesAreReleased) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* const first = allocate(bytes);
  std::memset(first, 1, bytes);
  SegmentTable::Garbage garbage;
  ASSERT_EQ(table.free(first, &garbage), Status::ok);
  EXPECT_FALSE(garbage.empty());
  EXPECT_EQ(table.find(reinterpret_cast<RemoteAddress>(first)), nullptr);
  void* const second = allocate(bytes);
  auto const* const at = static_cast<std::byte*>(first);
  auto const* const other = static_cast<std::byte*>(second);
  EXPECT_TRUE(other >= at + bytes || at >= other + bytes) << "others get other memory";
  std::memset(second, 2, bytes);
  give_back(garbage);
  EXPECT_TRUE(std::all_of(other, other + bytes, [](std::byte value) { return value == std::byte{2}; }));
  EXPECT_EQ(free(second), Status::ok);
}

TEST_F(Segments, AllocatesAtARequestedAddress) {
  // Below 32 TiB the sanitizers keep their own memory.
  auto const place = first_unmapped(std::uintptr_t{32} << 40, std::uintptr_t{48} << 40, 64 << 20, 2 << 20);
  ASSERT_NE(place, 0u);
  for (std::size_t const bytes : {std::size_t{100}, std::size_t{300000}, std::size_t{9} << 20}) {
    AllocationHints hints;
    hints.address = place;
    void* const base = allocate(bytes, hints);
    ASSERT_EQ(base, reinterpret_cast<void*>(place));
    std::memset(base, 1, bytes);
    void* other = nullptr;
    EXPECT_EQ(allocate(bytes, hints, &other), Status::bad_address) << "other memory is there";
    void* const beside = allocate(64);
    EXPECT_TRUE(beside < base || beside >= static_cast<std::byte*>(base) + bytes);
    EXPECT_EQ(free(base), Status::ok);
    EXPECT_FALSE(table.in_region(place, bytes)) << "the addresses are free again";
    EXPECT_EQ(free(beside), Status::ok);
  }
  AllocationHints misplaced;
  misplaced.address = place + 64;
  void* base = nullptr;
  EXPECT_EQ(allocate(64, misplaced, &base), Status::bad_argument);
  EXPECT_EQ(allocate(std::size_t{1} << 63, {}, &base), Status::out_of_memory)
      << "more than any address space";
}

}  // namespace
}  // namespace mpixrma::engine
