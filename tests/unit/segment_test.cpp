/// What processes of one host see of each other's segments, and what they cannot do to them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/segment/remote_segments.hpp"
#include "engine/segment/segment_table.hpp"
#include "tests/support/random_layout.hpp"

namespace mpix::engine {
namespace {

constexpr std::uint64_t process = 0x77;
constexpr std::size_t region_bytes = 1 << 20;

/// Runs `check` in another process; it returns nullptr, or what was wrong.
template <typename Check>
void in_another_process(Check check) {
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char const* const wrong = check();
    if (wrong != nullptr) std::fprintf(stderr, "in the other process: %s: %s\n", wrong, std::strerror(errno));
    ::_exit(wrong == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

int open_file_of(pid_t pid, int fd, int flags) {
  return ::open(("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd)).c_str(), flags);
}

class Segments : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(table.open(process, region_bytes), Status::ok); }

  Status allocate(std::size_t bytes, AllocationHints const& hints, void** base) {
    SegmentTable::Reservation reservation;
    if (Status const status = table.reserve(bytes, hints, &reservation); failed(status)) return status;
    Status const status = table.commit(reservation);
    if (!failed(status)) return table.publish(reservation, base);
    table.cancel(reservation);
    return status;
  }
  void* allocate(std::size_t bytes, AllocationHints const& hints = {}) {
    void* base = nullptr;
    EXPECT_EQ(allocate(bytes, hints, &base), Status::ok);
    return base;
  }

  Status attach(void* base, std::size_t bytes) { return table.attach(base, bytes, &replaced); }
  Status detach(void* base, std::size_t bytes = 0) {
    Coverage::Range ended{};
    return table.detach(base, bytes, &replaced, &ended);
  }

  SegmentTable table;
  std::vector<OwnSegment> replaced;  ///< segments that are none any more
};

TEST_F(Segments, another_process_finds_and_reaches_them_until_they_are_freed) {
  auto* const memory = static_cast<int*>(allocate(4096));
  static int variable = 0;
  ASSERT_EQ(attach(&variable, sizeof variable), Status::ok);
  in_another_process([&]() -> char const* {
    RemoteSegments seen;
    if (!seen.open(process, ::getppid(), table.tables_fd(), table.stripes_fd())) return "open";
    RemoteSegments::Found found;
    auto const address = reinterpret_cast<RemoteAddress>(memory + 5);
    if (!seen.find(address, &found) || !found.mapped || found.length != 4096) return "allocated memory";
    *reinterpret_cast<int*>(static_cast<std::int64_t>(address) + found.delta) = 42;
    if (!seen.find(reinterpret_cast<RemoteAddress>(&variable), &found) || found.mapped) return "a variable";
    return nullptr;
  });
  EXPECT_EQ(memory[5], 42);
  RemoteSegments seen;
  ASSERT_TRUE(seen.open(process, ::getpid(), table.tables_fd(), table.stripes_fd()));
  RemoteSegments::Found found;
  ASSERT_TRUE(seen.find(reinterpret_cast<RemoteAddress>(memory), &found));
  EXPECT_EQ(table.free(memory), Status::ok);
  EXPECT_FALSE(seen.find(reinterpret_cast<RemoteAddress>(memory), &found));
  EXPECT_EQ(detach(&variable), Status::ok);
  EXPECT_FALSE(seen.find(reinterpret_cast<RemoteAddress>(&variable), &found));
}

TEST_F(Segments, a_hidden_one_is_not_found_and_keeps_its_memory) {
  auto* const before = static_cast<char*>(allocate(64));
  auto* const memory = static_cast<char*>(allocate(64));
  memory[63] = 9;
  auto const address = reinterpret_cast<RemoteAddress>(memory);
  RemoteSegments seen;
  ASSERT_TRUE(seen.open(process, ::getpid(), table.tables_fd(), table.stripes_fd()));
  RemoteSegments::Found found;
  ASSERT_TRUE(seen.find(address, &found));
  ExposureId id{};
  ASSERT_EQ(table.expose({address, 64, Rights::read}, &id), Status::ok);
  EXPECT_EQ(table.expose({address, 65, Rights::read}, &id), Status::bad_argument);
  std::vector<ExposureId> concealed;
  ASSERT_EQ(table.hide(memory, &concealed), Status::ok);
  EXPECT_EQ(concealed, std::vector<ExposureId>{id});
  EXPECT_EQ(table.exposures().find(id), nullptr);
  EXPECT_EQ(table.hide(memory, &concealed), Status::ok);
  EXPECT_EQ(table.hide(memory + 1, &concealed), Status::bad_argument);
  EXPECT_FALSE(seen.find(address, &found));
  EXPECT_EQ(table.find(address), nullptr);
  EXPECT_NE(table.at(memory), nullptr);
  SegmentTable::Gap const gap = table.gap_around(address + 8);
  EXPECT_EQ(gap.begin, reinterpret_cast<RemoteAddress>(before) + 64);
  EXPECT_GE(gap.end, address + 64);
  EXPECT_NE(allocate(64), memory) << "in use until it is freed";
  EXPECT_EQ(memory[63], 9);
  EXPECT_EQ(table.free(memory), Status::ok);
  EXPECT_EQ(table.free(memory), Status::bad_argument);
  EXPECT_EQ(allocate(64), memory);
  EXPECT_TRUE(seen.find(address, &found));
}

/// Where the segment at `address` stands for peers and for the owner, who agree.
class Seen {
 public:
  explicit Seen(SegmentTable const& table) : table_(table) {
    EXPECT_TRUE(peer_.open(process, ::getpid(), table.tables_fd(), table.stripes_fd()));
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

constexpr Coverage::Range nothing{0, 0};

TEST_F(Segments, registrations_that_overlap_are_one_segment_while_they_do) {
  static char memory[1000];
  auto const range = [](std::size_t begin, std::size_t end) {
    auto const base = reinterpret_cast<RemoteAddress>(memory);
    return Coverage::Range{base + begin, base + end};
  };
  Seen seen(table);
  ASSERT_EQ(attach(memory + 100, 100), Status::ok);
  ASSERT_EQ(attach(memory + 400, 100), Status::ok);
  ASSERT_EQ(attach(memory + 500, 100), Status::ok);  // only touches
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
  EXPECT_EQ(seen.at(memory + 170), nothing);
  EXPECT_EQ(seen.at(memory + 499), range(190, 500));
  ASSERT_EQ(detach(memory + 190), Status::ok);
  EXPECT_EQ(seen.at(memory + 300), nothing);
  EXPECT_EQ(seen.at(memory + 400), range(400, 500));
  for (std::size_t const at : {150, 400, 500}) ASSERT_EQ(detach(memory + at), Status::ok);
  EXPECT_EQ(seen.at(memory + 155), nothing);
  EXPECT_EQ(detach(memory + 150), Status::bad_argument);
}

TEST_F(Segments, a_registration_is_counted_and_ended_by_its_length) {
  static char memory[300];
  auto const base = reinterpret_cast<RemoteAddress>(memory);
  Seen seen(table);
  for (std::size_t const bytes : {100, 300, 200, 100}) ASSERT_EQ(attach(memory, bytes), Status::ok);
  EXPECT_EQ(detach(memory, 250), Status::bad_argument);
  ASSERT_EQ(detach(memory, 300), Status::ok);
  EXPECT_EQ(seen.at(memory), (Coverage::Range{base, base + 200}));
  ASSERT_EQ(detach(memory), Status::ok);  // the newest, of 100
  EXPECT_EQ(seen.at(memory), (Coverage::Range{base, base + 200}));
  ASSERT_EQ(detach(memory), Status::ok);
  EXPECT_EQ(seen.at(memory), (Coverage::Range{base, base + 100}));
  ASSERT_EQ(detach(memory), Status::ok);
  EXPECT_EQ(seen.at(memory), nothing);
}

TEST_F(Segments, a_registration_in_allocated_memory_changes_nothing_and_ends_with_it) {
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
  ASSERT_EQ(table.free(memory), Status::ok);
  EXPECT_EQ(detach(memory + 100), Status::bad_argument);
  EXPECT_EQ(attach(memory, 8), Status::bad_argument);
  EXPECT_TRUE(replaced.empty());
}

TEST_F(Segments, random_registrations_are_as_if_each_byte_were_counted) {
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
    // Between two bytes of one registration there is no end of a segment.
    std::vector<bool> covered(bytes);
    std::vector<bool> joined(bytes + 1);
    for (auto const& [begin, length] : live) {
      for (std::size_t i = begin; i < begin + length; ++i) {
        covered[i] = true;
        joined[i] = joined[i] || i != begin;
      }
    }
    std::size_t const at = random() % bytes;
    Coverage::Range expected = nothing;
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

/// What a first look of a process at a segment of another takes, in nanoseconds: the average of `looks` at
/// different ones.
double first_touch(SegmentTable const& table, std::vector<RemoteAddress> const& addresses,
                   std::size_t looks) {
  RemoteSegments fresh;
  EXPECT_TRUE(fresh.open(process, ::getpid(), table.tables_fd(), table.stripes_fd()));
  std::size_t at = 0;
  auto const begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < looks; ++i) {
    at = (at + 7919) % addresses.size();
    RemoteSegments::Found found;
    EXPECT_TRUE(fresh.find(addresses[at] + 8, &found));
    EXPECT_EQ(found.base, addresses[at]);
  }
  std::chrono::duration<double, std::nano> const taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / static_cast<double>(looks);
}

TEST_F(Segments, a_hundred_thousand_are_found_as_fast_as_a_hundred) {
  constexpr std::size_t most = 100000;
  static char memory[most * 32];
  std::vector<RemoteAddress> addresses;
  std::mt19937_64 random(test::seed());
  double few = 0;
  for (std::size_t const count : {most / 1000, most / 10, most}) {
    std::vector<std::size_t> places;
    for (std::size_t i = addresses.size(); i < count; ++i) places.push_back(i);
    std::shuffle(places.begin(), places.end(), random);
    for (std::size_t const place : places) {
      // Every second one is allocated.
      char* base = memory + place * 32;
      if (place % 2 == 0) base = static_cast<char*>(allocate(16));
      if (place % 2 != 0) {
        ASSERT_EQ(attach(base, 16), Status::ok);
      }
      addresses.push_back(reinterpret_cast<RemoteAddress>(base));
    }
    double taken = first_touch(table, addresses, 100);
    for (int i = 0; i < 9; ++i) taken = std::min(taken, first_touch(table, addresses, 100));
    std::printf("first touch of one of %zu segments: %.0f ns\n", count, taken);
    if (count == most / 1000) few = taken;
    EXPECT_LT(taken, 10 * few + 5000) << count;  // a scan of all slots takes some 100 us
  }
  for (RemoteAddress const address : addresses) {
    auto* const base = reinterpret_cast<char*>(address);
    bool const attached = base >= memory && base < memory + sizeof memory;
    ASSERT_EQ(attached ? detach(base) : table.free(base), Status::ok);
  }
  EXPECT_EQ(table.find(addresses[0]), nullptr);
}

TEST_F(Segments, another_process_cannot_write_the_tables) {
  constexpr int future_write = 0x0010;  // F_SEAL_FUTURE_WRITE, which older headers do not name
  if ((::fcntl(table.tables_fd(), F_GET_SEALS) & future_write) == 0) GTEST_SKIP() << "needs Linux 5.1";
  void* const memory = allocate(4096);
  in_another_process([&]() -> char const* {
    std::uint64_t const wrong = ~std::uint64_t{0};
    int const writable = open_file_of(::getppid(), table.tables_fd(), O_RDWR);
    if (writable >= 0) {
      if (::pwrite(writable, &wrong, sizeof wrong, 0) >= 0) return "pwrite succeeds";
      if (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0) != MAP_FAILED)
        return "mmap for writing succeeds";
      if (::ftruncate(writable, 0) == 0) return "ftruncate succeeds";
    }
    int const readable = open_file_of(::getppid(), table.tables_fd(), O_RDONLY);
    if (readable < 0) return "not even open for reading";
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, readable, 0);
    if (mapped == MAP_FAILED) return "not even mmap for reading";
    if (::mprotect(mapped, 4096, PROT_READ | PROT_WRITE) == 0) return "mprotect succeeds";
    return nullptr;
  });
  EXPECT_EQ(table.tables().magic, PublishedTables::expected_magic);
  EXPECT_EQ(table.free(memory), Status::ok);
}

TEST_F(Segments, another_process_cannot_take_memory_away) {
  std::size_t const bytes = 512 * 1024;
  auto* const memory = static_cast<char*>(allocate(bytes));
  std::memset(memory, 7, bytes);
  PublishedRange region;
  ASSERT_TRUE(table.tables().regions[0].read(&region));
  in_another_process([&]() -> char const* {
    for (int const number : {static_cast<int>(region.number), table.stripes_fd()}) {
      int const fd = open_file_of(::getppid(), number, O_RDWR);
      if (fd < 0) return "open";
      if (::ftruncate(fd, 0) == 0 || ::ftruncate(fd, 1 << 30) == 0) return "ftruncate succeeds";
      if (::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0) return "another seal is possible";
    }
    return nullptr;
  });
  EXPECT_EQ(memory[bytes - 1], 7);
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::fstat(static_cast<int>(region.number), &before), 0);
  EXPECT_EQ(table.free(memory), Status::ok);
  ASSERT_EQ(::fstat(static_cast<int>(region.number), &after), 0);
  EXPECT_EQ(before.st_blocks - after.st_blocks, static_cast<blkcnt_t>(bytes / 512))
      << "pages are not given back";
}

TEST_F(Segments, garbage_in_the_locks_does_no_harm_to_the_tables) {
  std::memset(static_cast<void*>(&table.locks()), 0xff, sizeof(ProcessLocks));
  std::vector<void*> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(allocate(static_cast<std::size_t>(i) * 4000 + 1));
  for (void* const base : kept) {
    ASSERT_NE(table.find(reinterpret_cast<RemoteAddress>(base)), nullptr);
    EXPECT_EQ(table.free(base), Status::ok);
  }
  int variable = 0;
  EXPECT_EQ(attach(&variable, sizeof variable), Status::ok);
  EXPECT_EQ(detach(&variable), Status::ok);
}

/// How many of the pages of `bytes` bytes have memory.
std::size_t resident_pages(void* base, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(::mincore(base, bytes, pages.data()), 0);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](auto p) { return p & 1; }));
}

TEST_F(Segments, large_ones_have_their_pages_unless_they_are_lazy) {
  constexpr std::size_t bytes = 80 << 20;  // more than a step
  void* const base = allocate(bytes);
  EXPECT_EQ(resident_pages(base, bytes), bytes / 4096);
  EXPECT_EQ(table.free(base), Status::ok);
  AllocationHints hints;
  hints.lazy = true;
  void* const lazy = allocate(bytes, hints);
  EXPECT_EQ(resident_pages(lazy, bytes), 0u);
  static_cast<char*>(lazy)[bytes - 1] = 1;
  EXPECT_EQ(resident_pages(lazy, bytes), 1u);
  EXPECT_EQ(table.free(lazy), Status::ok);
}

/// Huge pages that the system has set aside and that nobody uses.
long free_huge_pages() {
  std::FILE* const file = std::fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
  long pages = 0;
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages;
}

TEST_F(Segments, large_ones_stand_on_huge_pages_where_there_are_some) {
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
      if (!seen.open(process, ::getppid(), table.tables_fd(), table.stripes_fd())) return "open";
      RemoteSegments::Found found;
      auto const last = reinterpret_cast<RemoteAddress>(memory + bytes - 1);
      if (!seen.find(last, &found) || !found.mapped) return "not mapped";
      char const value = *reinterpret_cast<char*>(static_cast<std::int64_t>(last) + found.delta);
      return value == round + 1 ? nullptr : "value";
    });
    EXPECT_EQ(table.free(memory), Status::ok);
  }
}

TEST_F(Segments, what_the_machine_does_not_have_is_refused) {
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
  EXPECT_EQ(table.free(lazy), Status::ok);
  EXPECT_EQ(table.free(before), Status::ok);
}

/// Tables that a hostile process might show: this process, to itself.
class HostileTables : public ::testing::Test {
 protected:
  HostileTables() {
    EXPECT_EQ(create_published("hostile", sizeof(PublishedTables), &tables_file, &mapping), Status::ok);
    EXPECT_EQ(create_shared("hostile", sizeof(ProcessLocks), &stripes_file), Status::ok);
    EXPECT_EQ(create_shared("hostile", region_length, &region_file), Status::ok);
    tables = reinterpret_cast<PublishedTables*>(mapping.base());
    tables->magic = PublishedTables::expected_magic;
    tables->version = PublishedTables::expected_version;
    tables->process = process;
    tables->segment_end = UINT32_MAX;
    index.open(tables->segment_index);
    index.insert(0, base);
    tables->region_end = UINT32_MAX;
  }

  /// Whether the segment at `base` is mapped, for a region and a segment that say what is given.
  bool is_mapped(PublishedRange const& region, PublishedRange const& segment) {
    generation += 2;
    PublishedRange shown = region;
    shown.generation = generation;
    tables->regions[0].publish(shown);
    shown = segment;
    shown.generation = generation;
    tables->segments[0].publish(shown);
    RemoteSegments seen;
    EXPECT_TRUE(seen.open(process, ::getpid(), tables_file.get(), stripes_file.get()));
    RemoteSegments::Found found;
    EXPECT_TRUE(seen.find(base, &found));
    return found.mapped;
  }
  std::uint32_t number() const { return static_cast<std::uint32_t>(region_file.get()); }

  static constexpr std::size_t region_length = 8192;
  static constexpr RemoteAddress base = 0x100000;
  Mapping mapping;
  FileDescriptor tables_file;
  FileDescriptor stripes_file;
  FileDescriptor region_file;
  PublishedTables* tables = nullptr;
  SegmentIndexWriter index;
  std::uint64_t generation = 1;
};

TEST_F(HostileTables, ranges_outside_of_the_file_are_not_mapped) {
  EXPECT_TRUE(is_mapped({base, region_length, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base, region_length, number(), 0}, {base, region_length + 1, 0, 0}));
  EXPECT_FALSE(is_mapped({base, region_length + 4096, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base, UINT64_MAX, number(), 0}, {base, UINT64_MAX, 0, 0}));
  EXPECT_FALSE(is_mapped({base, 0, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base + 4096, region_length, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base - 8192, region_length, number(), 0}, {base, 8, 0, 0}));
  EXPECT_FALSE(is_mapped({base, region_length, number(), 0}, {base, 8, max_regions, 0}));
}

TEST_F(HostileTables, files_of_another_kind_are_not_mapped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (int const end : ends)
    EXPECT_FALSE(is_mapped({base, 4096, static_cast<std::uint32_t>(end), 0}, {base, 4096, 0, 0}));
  // One that its owner could make shorter while it is used.
  FileDescriptor const loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), 8192), 0);
  EXPECT_FALSE(is_mapped({base, 8192, static_cast<std::uint32_t>(loose.get()), 0}, {base, 8192, 0, 0}));
  for (int const end : ends) ::close(end);
}

TEST_F(HostileTables, files_that_are_too_short_are_not_opened) {
  RemoteSegments seen;
  EXPECT_FALSE(seen.open(process, ::getpid(), region_file.get(), stripes_file.get()));
  FileDescriptor empty;
  ASSERT_EQ(create_shared("hostile", 0, &empty), Status::ok);
  EXPECT_FALSE(seen.open(process, ::getpid(), tables_file.get(), empty.get()));
  EXPECT_FALSE(seen.open(process + 1, ::getpid(), tables_file.get(), stripes_file.get()));
}

}  // namespace
}  // namespace mpix::engine
