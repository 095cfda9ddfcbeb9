/// Addresses of shared memory that is mapped at an alignment.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::size_t alignment = std::size_t{64} << 20;

FileDescriptor file_of(std::size_t bytes) {
  FileDescriptor file(::memfd_create("mapping_test", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  return file;
}

/// Whether nothing is mapped at the page.
bool is_free(std::byte* page) {
  return ::msync(page, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), MS_ASYNC) != 0 && errno == ENOMEM;
}

TEST(AlignedMapping, GivesItsAddressesBack) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  FileDescriptor const file = file_of(page);
  std::byte* base = nullptr;
  {
    Mapping const mapping = Mapping::of(file, page, alignment);
    base = mapping.base();
    ASSERT_NE(base, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % alignment, 0u);
    EXPECT_EQ(mapping.length(), page);
    EXPECT_FALSE(is_free(base + alignment - page)) << "other mappings may stand in the last huge page";
  }
  EXPECT_TRUE(is_free(base));
  EXPECT_TRUE(is_free(base + page));
  EXPECT_TRUE(is_free(base + alignment - page));
}

TEST(AlignedMapping, TakesNoAddressesWithoutAFile) {
  FileDescriptor const none;
  auto const first_free = [] {
    void* const found = ::mmap(nullptr, alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::munmap(found, alignment);
    return found;
  };
  void* const before = first_free();
  for (int round = 0; round < 4; ++round) EXPECT_FALSE(Mapping::of(none, alignment, alignment));
  EXPECT_EQ(first_free(), before);
}

TEST(SecondMapping, KeepsTheMemoryOfAReleasedOne) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  FileDescriptor file = file_of(2 * page);
  Mapping first = Mapping::of(file, 2 * page);
  file = FileDescriptor();
  std::size_t const offset = page - 8;
  first.base()[offset] = std::byte{7};
  first.base()[offset + 15] = std::byte{9};
  Mapping const second = Mapping::second(first.base() + offset, 16);
  ASSERT_TRUE(second);
  ASSERT_EQ(second.length(), offset + 16);
  first.release_memory();
  EXPECT_EQ(first.base()[offset], std::byte{0});
  EXPECT_EQ(second.base()[offset], std::byte{7});
  EXPECT_EQ(second.base()[offset + 15], std::byte{9});
  EXPECT_FALSE(Mapping::second(first.base(), 16)) << "private memory";
}

}  // namespace
}  // namespace mpixrma::engine
