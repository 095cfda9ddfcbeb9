/// Memory that is registered once or several times, and the resulting segments.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "engine/origin/remote_segments.hpp"
#include "tests/support/random_layout.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/segments.hpp"

namespace mpixrma::engine {
namespace {

/// Compares the segment at `address` as seen by peers and by the owner.
class Seen {
 public:
  explicit Seen(SegmentTable const& table) : table_(table) {
    EXPECT_TRUE(peer_.open(owner, ::getpid(), table.tables_fd(), table.control_fd()));
  }
  Coverage::Range at(void const* address) {
    auto const wanted = reinterpret_cast<RemoteAddress>(address);
    OwnSegment const* const own = table_.find(wanted);
    Coverage::Range const mine =
        own == nullptr ? Coverage::Range{0, 0} : Coverage::Range{own->base, own->base + own->length};
    RemoteSegments::Found found;
    Coverage::Range const its = peer_.find(wanted, &found)
                                    ? Coverage::Range{found.base, found.base + found.length}
                                    : Coverage::Range{0, 0};
    EXPECT_EQ(mine, its);
    return mine;
  }

 private:
  SegmentTable const& table_;
  RemoteSegments peer_;
};

constexpr Coverage::Range no_range{0, 0};

TEST_F(Segments, OverlappingRegistrationsFormOneSegment) {
  static char memory[1000];
  auto const range = [](std::size_t begin, std::size_t end) {
    auto const base = reinterpret_cast<RemoteAddress>(memory);
    return Coverage::Range{base + begin, base + end};
  };
  Seen seen(table);
  ASSERT_EQ(attach(memory + 100, 100), Status::ok);
  ASSERT_EQ(attach(memory + 400, 100), Status::ok);
  ASSERT_EQ(attach(memory + 500, 100), Status::ok);  // only adjacent
  EXPECT_TRUE(replaced.empty());
  EXPECT_EQ(seen.at(memory + 450), range(400, 500));
  ASSERT_EQ(attach(memory + 150, 10), Status::ok);
  EXPECT_TRUE(replaced.empty());
  EXPECT_EQ(seen.at(memory + 155), range(100, 200));
  ASSERT_EQ(attach(memory + 190, 220), Status::ok);
  EXPECT_EQ(replaced.size(), 2u);
  EXPECT_EQ(seen.at(memory + 100), range(100, 500));
  EXPECT_EQ(seen.at(memory + 500), range(500, 600));
  ASSERT_EQ(detach(memory + 100), Status::ok);
  EXPECT_EQ(seen.at(memory + 155), range(150, 160)) << "what stood within it";
  EXPECT_EQ(seen.at(memory + 170), no_range);
  EXPECT_EQ(seen.at(memory + 499), range(190, 500));
  ASSERT_EQ(detach(memory + 190), Status::ok);
  EXPECT_EQ(seen.at(memory + 300), no_range);
  EXPECT_EQ(seen.at(memory + 400), range(400, 500));
  for (unsigned const at : {150u, 400u, 500u}) ASSERT_EQ(detach(memory + at), Status::ok);
  EXPECT_EQ(seen.at(memory + 155), no_range);
  EXPECT_EQ(detach(memory + 150), Status::bad_argument);
}

TEST_F(Segments, RegistrationsAreCountedByLength) {
  static char memory[300];
  auto const base = reinterpret_cast<RemoteAddress>(memory);
  Seen seen(table);
  for (unsigned const bytes : {100u, 300u, 200u, 100u}) ASSERT_EQ(attach(memory, bytes), Status::ok);
  EXPECT_EQ(detach(memory, 250), Status::bad_argument);
  ASSERT_EQ(detach(memory, 300), Status::ok);
  EXPECT_EQ(seen.at(memory), (Coverage::Range{base, base + 200}));
  ASSERT_EQ(detach(memory), Status::ok);  // the newest one, of 100 bytes
  EXPECT_EQ(seen.at(memory), (Coverage::Range{base, base + 200}));
  ASSERT_EQ(detach(memory), Status::ok);
  EXPECT_EQ(seen.at(memory), (Coverage::Range{base, base + 100}));
  ASSERT_EQ(detach(memory), Status::ok);
  EXPECT_EQ(seen.at(memory), no_range);
}

TEST_F(Segments, RegistrationOfAllocatedMemoryEndsWithAllocation) {
  auto* const memory = static_cast<char*>(allocate(4096));
  auto const base = reinterpret_cast<RemoteAddress>(memory);
  Seen seen(table);
  std::uint32_t const version = table.version();
  std::uint64_t const generation = table.find(base)->generation;
  ASSERT_EQ(attach(memory, 4096), Status::ok);
  ASSERT_EQ(attach(memory + 100, 100), Status::ok);
  ASSERT_EQ(detach(memory), Status::ok);
  EXPECT_EQ(table.version(), version);
  EXPECT_EQ(table.find(base)->generation, generation);
  EXPECT_EQ(seen.at(memory + 100), (Coverage::Range{base, base + 4096}));
  EXPECT_EQ(attach(memory + 4000, 97), Status::bad_argument) << "over the end";
  EXPECT_EQ(attach(memory + 8192, 8), Status::bad_argument) << "memory that nobody has allocated";
  ASSERT_EQ(free(memory), Status::ok);
  EXPECT_EQ(detach(memory + 100), Status::bad_argument);
  EXPECT_EQ(attach(memory, 8), Status::bad_argument);
  EXPECT_TRUE(replaced.empty());
}

TEST_F(Segments, RegistrationOfLargeMemoryAllocatesNoPages) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  constexpr std::size_t page = 4096;
  void* const base =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(base, MAP_FAILED);
  EXPECT_EQ(attach_if_mapped(base, bytes), Status::ok);
  EXPECT_EQ(test::resident_pages(base, bytes), 0u);
  EXPECT_EQ(detach(base), Status::ok);
  char* const middle = static_cast<char*>(base) + bytes / 2;
  ASSERT_EQ(::mprotect(middle, page, PROT_NONE), 0);
  EXPECT_EQ(attach_if_mapped(base, bytes), Status::bad_address);
  ASSERT_EQ(::munmap(middle, page), 0);
  EXPECT_EQ(attach_if_mapped(base, bytes), Status::bad_address);
  EXPECT_EQ(attach_if_mapped(base, bytes / 2), Status::ok);
  EXPECT_EQ(attach_if_mapped(middle + page, bytes / 2 - page), Status::ok);
  EXPECT_EQ(detach(base), Status::ok);
  EXPECT_EQ(detach(middle + page), Status::ok);
  EXPECT_EQ(::munmap(base, bytes), 0);
}

TEST_F(Segments, RegistrationBeyondEndOfMappedFileIsRefused) {
  constexpr std::size_t bytes = std::size_t{32} << 20;
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(::ftruncate(::fileno(file), bytes), 0);
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file), 0);
  ASSERT_NE(base, MAP_FAILED);
  EXPECT_EQ(attach_if_mapped(base, bytes), Status::ok);
  EXPECT_EQ(detach(base), Status::ok);
  ASSERT_EQ(::ftruncate(::fileno(file), bytes / 2), 0);
  EXPECT_EQ(attach_if_mapped(base, bytes), Status::bad_address);
  EXPECT_EQ(attach_if_mapped(base, bytes / 2), Status::ok);
  EXPECT_EQ(detach(base), Status::ok);
  EXPECT_EQ(::munmap(base, bytes), 0);
  std::fclose(file);
}

TEST_F(Segments, RandomRegistrationsMatchCountPerByte) {
  constexpr std::size_t bytes = 200;
  static char memory[bytes];
  std::mt19937_64 random(test::seed());
  Seen seen(table);
  std::vector<std::pair<std::size_t, std::size_t>> live;  // begin, length
  for (int round = 0; round < 3000; ++round) {
    if (live.empty() || random() % 100 < 52) {
      std::size_t const begin = random() % bytes;
      std::size_t const length = 1 + random() % std::min<std::size_t>(bytes - begin, 40);
      ASSERT_EQ(attach(memory + begin, length), Status::ok);
      live.emplace_back(begin, length);
    } else {
      std::size_t const which = random() % live.size();
      ASSERT_EQ(detach(memory + live[which].first, live[which].second), Status::ok);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
    // A segment never ends between two bytes of one registration.
    std::vector<bool> covered(bytes);
    std::vector<bool> joined(bytes + 1);
    for (auto const& [begin, length] : live) {
      for (std::size_t i = begin; i < begin + length; ++i) {
        covered[i] = true;
        joined[i] = joined[i] || i != begin;
      }
    }
    std::size_t const at = random() % bytes;
    Coverage::Range expected = no_range;
    if (covered[at]) {
      std::size_t begin = at;
      std::size_t end = at + 1;
      while (joined[begin]) --begin;
      while (joined[end]) ++end;
      expected = {reinterpret_cast<RemoteAddress>(memory) + begin,
                  reinterpret_cast<RemoteAddress>(memory) + end};
    }
    ASSERT_EQ(seen.at(memory + at), expected) << "round " << round;
  }
}
}  // namespace
}  // namespace mpixrma::engine
