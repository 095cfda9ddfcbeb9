/// Memory of a process that has ended takes long to be unmapped: other threads go on.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/support/engine_paths.hpp"
#include "tests/support/latch.hpp"

namespace {
constexpr std::size_t large = std::size_t{32} << 20;
mpixrma::test::Latch unmapping;
}  // namespace

extern "C" __attribute__((visibility("default"))) int munmap(void* base, std::size_t bytes) noexcept {
  if (bytes >= large) unmapping.pass();
  return static_cast<int>(::syscall(SYS_munmap, base, bytes));
}

namespace mpixrma::engine {
namespace {

TEST(SlowUnmapping, PeersAreFoundWhileLostOneIsForgotten) {
  if (std::getenv("UCX_MEM_EVENTS") == nullptr) GTEST_SKIP() << "UCX_MEM_EVENTS=n is not set";
  enum : int { survivor, other, mortal, ranks };
  constexpr int ready = 10;
  constexpr int done = 11;
  auto const body = [](Rank& rank) {
    void* base = nullptr;
    ASSERT_EQ(rank.engine().allocate(large, &base), Status::ok);
    rank.show(0, base);
    rank.tell(ready, 1);
    for (int each = 0; each < ranks; ++each) ASSERT_TRUE(rank.was_told(each, ready, 1));
    if (rank.rank() == mortal) {
      EXPECT_TRUE(rank.was_told(survivor, done, 1));
      rank.die();
    }
    if (rank.rank() == survivor) {
      std::int64_t value = 7;
      auto const put_to = [&](int target) {
        return run(rank.engine(), rank.peer(target),
                   contiguous(OpKind::put, &value, rank.shown(target, 0), 8));
      };
      EXPECT_EQ(put_to(mortal), Status::ok);
      rank.expect_death(mortal);
      rank.tell(done, 1);
      Peer& gone = rank.peer(mortal);
      EXPECT_TRUE(test::eventually([&] {
        (void)rank.engine().progress();
        return gone.is_lost();
      }));
      unmapping.close();
      std::thread forgetting([&] {
        rank.engine().release(gone);
        rank.engine().release(gone);  // put_to has one, too
      });
      EXPECT_TRUE(test::eventually([] { return unmapping.is_waited_at(); })) << "nothing was unmapped";
      EXPECT_EQ(put_to(other), Status::ok);
      EXPECT_EQ(rank.engine().statistics().peers, 1u);
      EXPECT_TRUE(unmapping.is_waited_at());
      EXPECT_FALSE(unmapping.was_forced());
      unmapping.open();
      forgetting.join();
      rank.tell(done, 2);
    } else {
      EXPECT_TRUE(rank.was_told(survivor, done, 2, 100));
    }
  };
  auto const direct = [](mpix_engine_config& config) { config.paths = MPIX_ENGINE_PATH_DIRECT; };
  run_job(ranks, direct, body, test::JobKind::mortal);
}

}  // namespace
}  // namespace mpixrma::engine
