// The map of this process's memory: rights of ranges, gaps, and files that end within a mapping.
#include "engine/memory/memory_map.hpp"
#include "engine/memory/probe.hpp"
#include "tests/support/pages.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

namespace mpixrma::engine {
namespace {

class Mapped {
 public:
  Mapped(std::size_t bytes, int protection, int flags, int file = -1) : bytes_(bytes) {
    base_ = static_cast<std::byte*>(::mmap(nullptr, bytes, protection, flags, file, 0));
  }
  ~Mapped() { ::munmap(base_, bytes_); }
  std::byte* base() const { return base_; }

 private:
  std::size_t bytes_;
  std::byte* base_;
};

int sparse_file(std::size_t bytes) {
  int const file = ::memfd_create("memory-map-test", MFD_CLOEXEC);
  EXPECT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
  return file;
}

/// The two ways to read the map, and the one that the engine chooses.
enum class Way { chosen, queries, text };

class MemoryMap : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam() == Way::queries && !detail::query_rights(this, 1))
      GTEST_SKIP() << "the kernel does not support queries";
  }
  static MemoryRights rights_of(void const* begin, std::size_t bytes) {
    switch (GetParam()) {
      case Way::queries: return detail::query_rights(begin, bytes).value();
      case Way::text: return detail::read_rights(begin, bytes);
      default: return engine::rights_of(begin, bytes);
    }
  }
};

std::string way_name(::testing::TestParamInfo<Way> const& way) {
  if (way.param == Way::chosen) return "chosen";
  return way.param == Way::queries ? "queries" : "text";
}

INSTANTIATE_TEST_SUITE_P(Ways, MemoryMap, ::testing::Values(Way::chosen, Way::queries, Way::text), way_name);

TEST_P(MemoryMap, ReportsRightsOfEveryByte) {
  Mapped const pages(4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  ASSERT_EQ(::mprotect(pages.base() + page, page, PROT_READ), 0);
  ASSERT_EQ(::mprotect(pages.base() + 2 * page, page, PROT_NONE), 0);
  EXPECT_TRUE(rights_of(pages.base(), page).writable);
  EXPECT_TRUE(rights_of(pages.base() + 8, page - 8).writable);
  MemoryRights const mixed = rights_of(pages.base(), page + 1);
  EXPECT_TRUE(mixed.mapped && mixed.readable);
  EXPECT_FALSE(mixed.writable);
  MemoryRights const hidden = rights_of(pages.base(), 3 * page);
  EXPECT_TRUE(hidden.mapped);
  EXPECT_FALSE(hidden.readable || hidden.writable);
  ASSERT_EQ(::munmap(pages.base() + 2 * page, page), 0);
  EXPECT_FALSE(rights_of(pages.base(), 4 * page).mapped) << "a gap";
  EXPECT_TRUE(rights_of(pages.base(), 2 * page).mapped);
  EXPECT_FALSE(rights_of(nullptr, 8).mapped);
  EXPECT_FALSE(engine::rights_of(pages.base(), SIZE_MAX).mapped);
}

/// Leaves the process no descriptors. Only for scopes in which no other thread of the test opens any.
class WithoutDescriptors {
 public:
  WithoutDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~WithoutDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

/// Blocks the signals of bad accesses in this thread.
class WithoutFaults {
 public:
  WithoutFaults() {
    sigset_t faults;
    ::sigemptyset(&faults);
    ::sigaddset(&faults, SIGSEGV);
    ::sigaddset(&faults, SIGBUS);
    ::pthread_sigmask(SIG_BLOCK, &faults, &before_);
  }
  ~WithoutFaults() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// The first mapping with this name, or null.
std::byte* find_mapping(std::string const& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(name)) return reinterpret_cast<std::byte*>(std::stoull(line, nullptr, 16));
  return nullptr;
}

TEST(MemoryMapWithoutDescriptors, IsReplacedByAccesses) {
  Mapped const pages(20 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  ASSERT_EQ(::mprotect(pages.base() + 18 * page, page, PROT_READ), 0);
  ASSERT_EQ(::munmap(pages.base() + 19 * page, page), 0);
  auto const first = reinterpret_cast<std::uintptr_t>(pages.base());
  WithoutDescriptors const none;
  EXPECT_TRUE(rights_of(pages.base(), 18 * page).writable);
  EXPECT_TRUE(rights_of(pages.base(), 19 * page).readable);
  EXPECT_FALSE(rights_of(pages.base(), 19 * page).writable);
  EXPECT_FALSE(rights_of(pages.base(), 20 * page).mapped);
  EXPECT_EQ(first_unmapped(first, first + 20 * page, page, page), 0U) << "nothing is known of it";
}

// The system cannot populate this mapping, and the thread does not touch it, because it blocks the signals.
TEST(MemoryMapWithoutDescriptors, ReportsSpecialMappingsAsUnmapped) {
  std::byte* const special = find_mapping("[vvar]");
  if (special == nullptr) GTEST_SKIP() << "no special mapping";
  WithoutDescriptors const none;
  WithoutFaults const blocked;
  EXPECT_FALSE(accessible(special, page, Access::read));
  EXPECT_FALSE(rights_of(special, page).mapped);
}

TEST(FaultReason, IsNamed) {
  Mapped const pages(2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
  EXPECT_EQ(reason_for_fault(pages.base(), 8, Access::write), Status::not_writable);
  EXPECT_EQ(reason_for_fault(nullptr, 8, Access::write), Status::bad_address);
  ASSERT_EQ(::mprotect(pages.base(), page, PROT_NONE), 0);
  EXPECT_EQ(reason_for_fault(pages.base(), 8, Access::write), Status::bad_address);
  EXPECT_EQ(reason_for_fault(pages.base(), 8, Access::read), Status::bad_address);
}

TEST_P(MemoryMap, FindsEndOfMappedFile) {
  int const file = sparse_file(3 * page / 2);
  Mapped const pages(3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file);
  EXPECT_TRUE(rights_of(pages.base(), 2 * page).writable) << "the last page of the file counts whole";
  EXPECT_FALSE(rights_of(pages.base(), 2 * page + 1).mapped) << "an access there is a SIGBUS";
  ::close(file);
  EXPECT_TRUE(rights_of(pages.base(), 2 * page).writable);
  EXPECT_FALSE(rights_of(pages.base() + 2 * page, 8).mapped);
}

TEST_P(MemoryMap, AllocatesNoPages) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  int const file = sparse_file(bytes);
  struct stat status {};
  {
    Mapped const memory(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file);
    EXPECT_TRUE(rights_of(memory.base(), bytes).writable);
  }
  ASSERT_EQ(::fstat(file, &status), 0);
  EXPECT_LE(static_cast<std::size_t>(status.st_blocks) * 512, page) << "the last page at most";
  ::close(file);
}

TEST_P(MemoryMap, ChecksAllMappings) {
  Mapped const pages(6 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  for (std::size_t i = 1; i < 6; i += 2) ASSERT_EQ(::mprotect(pages.base() + i * page, page, PROT_READ), 0);
  MemoryRights const mixed = rights_of(pages.base(), 6 * page);
  EXPECT_TRUE(mixed.mapped && mixed.readable);
  EXPECT_FALSE(mixed.writable);
  ASSERT_EQ(::mprotect(pages.base() + 5 * page, page, PROT_NONE), 0);
  EXPECT_FALSE(rights_of(pages.base(), 6 * page).readable) << "the last one counts";
  EXPECT_TRUE(rights_of(pages.base(), 5 * page).readable);
}

TEST(FirstUnmapped, ReturnsTheFirstGapThatIsLargeEnough) {
  Mapped const all(16 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
  auto const begin = reinterpret_cast<std::uintptr_t>(all.base());
  std::uintptr_t const end = begin + 16 * page;
  EXPECT_EQ(first_unmapped(begin, end, page, page), 0u) << "all is mapped";
  ASSERT_EQ(::munmap(all.base() + 3 * page, page), 0);
  ASSERT_EQ(::munmap(all.base() + 5 * page, 2 * page), 0);
  ASSERT_EQ(::munmap(all.base() + 14 * page, 2 * page), 0);
  EXPECT_EQ(first_unmapped(begin, end, page, page), begin + 3 * page);
  EXPECT_EQ(first_unmapped(begin, end, page + 1, page), begin + 5 * page);
  EXPECT_EQ(first_unmapped(begin + 5 * page + 1, end, page, page), begin + 6 * page);
  EXPECT_EQ(first_unmapped(begin + 7 * page, end, 2 * page, page), begin + 14 * page);
  EXPECT_EQ(first_unmapped(begin + 7 * page, end, 2 * page + 1, page), 0u) << "beyond the end";
  std::uintptr_t const aligned = first_unmapped(begin, end, page, 2 * page);
  EXPECT_TRUE(aligned == 0 || aligned % (2 * page) == 0);
  EXPECT_EQ(first_unmapped(end, end, page, page), 0u);
}

TEST_P(MemoryMap, ReportsRightsOfMemoryOfTheExecutable) {
  static char written[64] = {1};
  static char zero[64];
  EXPECT_TRUE(rights_of(written, sizeof written).writable);
  EXPECT_TRUE(rights_of(zero, sizeof zero).writable);
  MemoryRights const constant = rights_of("constant", 8);
  EXPECT_TRUE(constant.mapped && constant.readable);
  EXPECT_FALSE(constant.writable);
}

}  // namespace
}  // namespace mpixrma::engine
