/// Protection of segments against other processes of the host, and validation of what such processes publish.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "engine/origin/remote_segments.hpp"
#include "tests/support/segments.hpp"

namespace mpixrma::engine {
namespace {

TEST_F(Segments, AnotherProcessCannotWriteTheTables) {
  constexpr int future_write = 0x0010;  // F_SEAL_FUTURE_WRITE, which older headers do not define
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
  EXPECT_EQ(free(memory), Status::ok);
}

TEST_F(Segments, AnotherProcessCannotResizeMemory) {
  std::size_t const bytes = 512 * 1024;
  auto* const memory = static_cast<char*>(allocate(bytes));
  std::memset(memory, 7, bytes);
  PublishedRange region;
  ASSERT_TRUE(table.tables().regions[0].read(&region));
  in_another_process([&]() -> char const* {
    for (int const number : {static_cast<int>(region.number), table.control_fd()}) {
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
  EXPECT_EQ(free(memory), Status::ok);
  ASSERT_EQ(::fstat(static_cast<int>(region.number), &after), 0);
  EXPECT_EQ(before.st_blocks - after.st_blocks, static_cast<blkcnt_t>(bytes / 512))
      << "pages are not given back";
}

TEST_F(Segments, TablesSurviveCorruptLocks) {
  std::memset(static_cast<void*>(&table.control()), 0xff, sizeof(ProcessControl));
  std::vector<void*> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(allocate(static_cast<std::size_t>(i) * 4000 + 1));
  for (void* const base : kept) {
    ASSERT_NE(table.find(reinterpret_cast<RemoteAddress>(base)), nullptr);
    EXPECT_EQ(free(base), Status::ok);
  }
  int variable = 0;
  EXPECT_EQ(attach(&variable, sizeof variable), Status::ok);
  EXPECT_EQ(detach(&variable), Status::ok);
}

/// Tables that a hostile process might publish; this process publishes them to itself.
class HostileTables : public ::testing::Test {
 protected:
  HostileTables() {
    EXPECT_EQ(create_published("hostile", sizeof(PublishedTables), &tables_file, &mapping), Status::ok);
    EXPECT_EQ(create_shared("hostile", sizeof(ProcessControl), &stripes_file), Status::ok);
    EXPECT_EQ(create_shared("hostile", region_length, &region_file), Status::ok);
    tables = reinterpret_cast<PublishedTables*>(mapping.base());
    tables->magic = PublishedTables::expected_magic;
    tables->version = PublishedTables::expected_version;
    tables->process = owner;
    tables->segment_end = UINT32_MAX;
    index.open(tables->segment_index);
    index.insert(0, base);
    tables->region_end = UINT32_MAX;
  }

  /// Whether the segment at `base` is mapped, given this description of a region and a segment.
  bool is_mapped(PublishedRange const& region, PublishedRange const& segment) {
    generation += 2;
    PublishedRange shown = region;
    shown.generation = generation;
    tables->regions[0].publish(shown);
    shown = segment;
    shown.generation = generation;
    tables->segments[0].publish(shown);
    RemoteSegments seen;
    EXPECT_TRUE(seen.open(owner, ::getpid(), tables_file.get(), stripes_file.get()));
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

TEST_F(HostileTables, RangesOutsideOfTheFileAreNotMapped) {
  EXPECT_TRUE(is_mapped({base, region_length, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base, region_length, number(), 0}, {base, region_length + 1, 0, 0}));
  EXPECT_FALSE(is_mapped({base, region_length + 4096, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base, UINT64_MAX, number(), 0}, {base, UINT64_MAX, 0, 0}));
  EXPECT_FALSE(is_mapped({base, 0, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base + 4096, region_length, number(), 0}, {base, region_length, 0, 0}));
  EXPECT_FALSE(is_mapped({base - 8192, region_length, number(), 0}, {base, 8, 0, 0}));
  EXPECT_FALSE(is_mapped({base, region_length, number(), 0}, {base, 8, max_regions, 0}));
}

TEST_F(HostileTables, FilesOfAnotherKindAreNotMapped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (int const end : ends)
    EXPECT_FALSE(is_mapped({base, 4096, static_cast<std::uint32_t>(end), 0}, {base, 4096, 0, 0}));
  // A file that its owner could truncate while it is used.
  FileDescriptor const loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), 8192), 0);
  EXPECT_FALSE(is_mapped({base, 8192, static_cast<std::uint32_t>(loose.get()), 0}, {base, 8192, 0, 0}));
  for (int const end : ends) ::close(end);
}

TEST_F(HostileTables, FilesThatAreTooShortAreNotOpened) {
  RemoteSegments seen;
  EXPECT_FALSE(seen.open(owner, ::getpid(), region_file.get(), stripes_file.get()));
  FileDescriptor empty;
  ASSERT_EQ(create_shared("hostile", 0, &empty), Status::ok);
  EXPECT_FALSE(seen.open(owner, ::getpid(), tables_file.get(), empty.get()));
  EXPECT_FALSE(seen.open(owner + 1, ::getpid(), tables_file.get(), stripes_file.get()));
}

}  // namespace
}  // namespace mpixrma::engine
