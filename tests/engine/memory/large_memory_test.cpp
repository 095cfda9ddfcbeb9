/// Large memory is exposed without allocating its pages, and freed while operations of others continue.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/support/exposed.hpp"
#include "tests/support/pages.hpp"
#include "tests/support/resident.hpp"

namespace mpixrma::engine {
namespace {

class LargeMemoryPaths : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, LargeMemoryPaths, every_path(), path_name);

std::size_t pages_of(int file) {
  struct stat status {};
  EXPECT_EQ(::fstat(file, &status), 0);
  return static_cast<std::size_t>(status.st_blocks) * 512 / page;
}

/// Exposes the memory and writes its last word from process 0.
void expose_and_use(Rank& rank, void* memory, std::size_t bytes) {
  ExposureId id{};
  ASSERT_EQ(rank.engine().exposures.expose(memory, bytes, Rights::all, &id), Status::ok);
  rank.publish(0, static_cast<std::uint64_t>(id));
  rank.barrier();
  std::int64_t value = 7;
  if (rank.rank() == 0) {
    EXPECT_EQ(
        run(rank.engine(), rank.peer(1), transfer(OpKind::put, &value, shown_id(rank, 1), bytes - 8, 8)),
        Status::ok);
  }
  rank.barrier();
  if (rank.rank() == 1) {
    EXPECT_EQ(std::memcmp(static_cast<std::byte*>(memory) + bytes - 8, &value, 8), 0);
  }
  EXPECT_EQ(rank.engine().exposures.withdraw(id), Status::ok);
}

// The network protocol registers memory, which allocates its pages, so that path is excluded.
TEST_P(LargeMemoryPaths, ExposesSharedAndFileMappingsWithoutAllocatingPages) {
  if (GetParam().paths == MPIX_ENGINE_PROTOCOL_NETWORK)
    GTEST_SKIP() << "memory is registered with the network";
  for (std::size_t const bytes : {std::size_t{4} << 20, std::size_t{2000} << 20}) {
    run_job(2, configure, [=](Rank& rank) {
      int const file = ::memfd_create("large-memory-test", MFD_CLOEXEC);
      ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
      void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      ASSERT_NE(mapped, MAP_FAILED);
      expose_and_use(rank, mapped, bytes);
      EXPECT_LE(pages_of(file), 1u);
      ::munmap(mapped, bytes);
      ::close(file);
      for (int const kind : {MAP_SHARED, MAP_PRIVATE}) {
        void* const anonymous =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(anonymous, MAP_FAILED);
        (void)::madvise(anonymous, bytes, MADV_NOHUGEPAGE);  // kernels without huge pages do not support it
        expose_and_use(rank, anonymous, bytes);
        EXPECT_LE(test::resident_pages(anonymous, bytes), 1u) << kind;
        ::munmap(anonymous, bytes);
      }
    });
  }
}

bool has_page(std::byte* at) {
  unsigned char resident = 0;
  return ::mincore(at, page, &resident) == 0 && (resident & 1) != 0;
}

// The kernel frees pages in address order: meanwhile the first page is gone and the last one is present. A
// thread that observes this state twice, and has acquired every channel's lock in between, has waited for no
// lock.
TEST(LargeMemory, ReleasesPagesWithoutLock) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  constexpr int tries = 200;
  auto const keep_nothing = [](mpix_engine_config& config) {
    config.idle_memory_bytes = MPIX_ENGINE_KEEP_NOTHING;
  };
  run_job(1, keep_nothing, [=](Rank& rank) {
    int best = 0;
    for (int round = 0; round < tries && best < 2; ++round) {
      void* memory = nullptr;
      ASSERT_EQ(rank.engine().memory.allocate(bytes, &memory), Status::ok);
      auto* const first = static_cast<std::byte*>(memory);
      auto* const last = first + bytes - page;
      ASSERT_TRUE(has_page(first) && has_page(last));
      std::atomic<bool> done{false};
      std::thread freeing([&] {
        EXPECT_EQ(rank.engine().memory.free(memory), Status::ok);
        done = true;
      });
      int seen = 0;
      while (!done && seen < 2) {
        if (!has_page(first) && has_page(last)) ++seen;
        (void)rank.engine().traffic.statistics();
      }
      best = std::max(best, seen);
      freeing.join();
    }
    EXPECT_EQ(best, 2) << "in one of " << tries << " times";
  });
}

}  // namespace
}  // namespace mpixrma::engine
