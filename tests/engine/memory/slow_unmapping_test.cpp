/// Unmapping the memory of an ended process takes long: other threads continue meanwhile.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/support/engine_paths.hpp"
#include "tests/support/latch.hpp"

namespace {
constexpr std::size_t large = std::size_t{32} << 20;
mpixrma::test::Latch unmapping;
mpixrma::test::Latch replacing;
}  // namespace

extern "C" __attribute__((visibility("default"))) int munmap(void* base, std::size_t bytes) noexcept {
  if (bytes >= large) unmapping.pass();
  return static_cast<int>(::syscall(SYS_munmap, base, bytes));
}

/// Memory of an ended process is replaced by private memory at the same addresses.
extern "C" __attribute__((visibility("default"))) void* mmap(void* base, std::size_t bytes, int protection,
                                                             int flags, int fd, off_t offset) noexcept {
  constexpr int replaces = MAP_FIXED | MAP_ANONYMOUS;
  if (bytes >= large && (flags & replaces) == replaces) replacing.pass();
  return reinterpret_cast<void*>(::syscall(SYS_mmap, base, bytes, protection, flags, fd, offset));
}

namespace mpixrma::engine {
namespace {

enum : int { survivor, other, mortal, ranks };

Status put_to(Rank& rank, int target) {
  std::int64_t value = 7;
  return run(rank.engine(), rank.peer(target), contiguous(OpKind::put, &value, rank.published(target, 0), 8));
}

/// The survivor puts to the mortal rank, calls `before_death`, lets the mortal rank die, and calls
/// `after_death`.
void outlive(std::function<void(Rank&)> const& before_death, std::function<void(Rank&)> const& after_death) {
  constexpr int ready = 10;
  constexpr int done = 11;
  auto const body = [&](Rank& rank) {
    void* base = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(large, &base), Status::ok);
    rank.publish(0, base);
    rank.signal(ready, 1);
    for (int each = 0; each < ranks; ++each) ASSERT_TRUE(rank.wait_for_value(each, ready, 1));
    if (rank.rank() == mortal) {
      EXPECT_TRUE(rank.wait_for_value(survivor, done, 1));
      rank.die();
    }
    if (rank.rank() == survivor) {
      EXPECT_EQ(put_to(rank, mortal), Status::ok);
      before_death(rank);
      rank.expect_death(mortal);
      rank.signal(done, 1);
      after_death(rank);
      rank.signal(done, 2);
    } else {
      EXPECT_TRUE(rank.wait_for_value(survivor, done, 2, 100));
    }
  };
  auto const direct = [](mpix_engine_config& config) { config.protocols = MPIX_ENGINE_PROTOCOL_DIRECT; };
  run_job(ranks, direct, body, test::JobKind::mortal);
}

/// Expects that operations on another peer continue while a call waits at the latch.
void go_on(Rank& rank, test::Latch& latch) {
  EXPECT_TRUE(test::eventually([&] { return latch.is_waited_at(); })) << "nothing was unmapped";
  EXPECT_EQ(put_to(rank, other), Status::ok);
  EXPECT_EQ(rank.engine().failures.take(rank.peer(other), 0), Status::ok);  // with the channel's lock
  EXPECT_TRUE(latch.is_waited_at());
  EXPECT_FALSE(latch.was_forced());
}

TEST(SlowUnmapping, FindsPeersWhileForgettingLostPeer) {
  if (std::getenv("UCX_MEM_EVENTS") == nullptr) GTEST_SKIP() << "UCX_MEM_EVENTS=n is not set";
  outlive([](Rank&) {},
          [](Rank& rank) {
            Peer& gone = rank.peer(mortal);
            EXPECT_TRUE(test::eventually([&] {
              (void)rank.engine().waits.progress();
              return gone.is_lost();
            }));
            unmapping.close();
            std::thread forgetting([&] {
              rank.engine().peers.release(gone);
              rank.engine().peers.release(gone);  // the reference of put_to()
            });
            go_on(rank, unmapping);
            EXPECT_EQ(rank.engine().traffic.statistics().peers, 1u);
            unmapping.open();
            forgetting.join();
          });
}

/// The agent finds that the mortal rank has ended, and replaces its memory.
void see_memory_released(Rank& rank) {
  go_on(rank, replacing);
  Peer& gone = rank.peer(mortal);
  EXPECT_TRUE(gone.is_lost());
  rank.engine().peer_memory.drop_stale_mappings();
  rank.engine().peers.release(gone);
  rank.engine().peers.release(gone);  // the reference of put_to()
  EXPECT_EQ(rank.engine().traffic.statistics().peers, 1u);
  EXPECT_TRUE(replacing.is_waited_at());
  EXPECT_FALSE(replacing.was_forced());
  replacing.open();
}

TEST(SlowUnmapping, ServesOtherPeersWhileReleasingMemoryOfLostPeer) {
  if (std::getenv("UCX_MEM_EVENTS") == nullptr) GTEST_SKIP() << "UCX_MEM_EVENTS=n is not set";
  outlive([](Rank&) { replacing.close(); }, see_memory_released);
}

/// A killed process closes its sockets, which UCX reports, before the kernel reports its end.
TEST(SlowUnmapping, ReleasesMemoryIfConnectionEndsBeforeProcess) {
  if (std::getenv("UCX_MEM_EVENTS") == nullptr) GTEST_SKIP() << "UCX_MEM_EVENTS=n is not set";
  outlive(
      [](Rank& rank) {
        replacing.close();
        rank.engine().peers.fail_connections(Rank::process_of(mortal));
        Peer& gone = rank.peer(mortal);
        EXPECT_TRUE(gone.is_lost());
        rank.engine().peers.release(gone);
        EXPECT_FALSE(replacing.is_waited_at());
      },
      see_memory_released);
}

}  // namespace
}  // namespace mpixrma::engine
