/// Locks of which a holder, a waiting process, or the target is killed: the others continue.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/fault/other_host.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

using test::JobKind;

/// The placement of the processes.
struct Place {
  char const* name;
  unsigned paths;
  bool other_hosts;
};

enum : int { target, victim, next_holder, ranks };
/// Slots of the values that the processes publish.
enum : int { ready, asked, granted, ended };

class LockFault : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (GetParam().other_hosts && !test::may_enter_other_host()) GTEST_SKIP() << "no right to unshare()";
  }
  static void configure(mpix_engine_config& config) {
    config.protocols = GetParam().paths;
    if (GetParam().other_hosts && !test::enter_other_host()) ::_exit(3);
  }

  /// Runs `body` in three connected processes, each with a lock; the victim dies in `body`.
  static void run_mortal(std::function<void(Rank&)> const& body) {
    run_job(
        ranks, configure,
        [&](Rank& rank) {
          LockId id = 1;
          ASSERT_EQ(rank.engine().locks.create(1, &id), Status::ok);
          ASSERT_EQ(id, 0u);
          rank.signal(ready, 1);
          for (int i = 0; i < ranks; ++i) ASSERT_TRUE(rank.wait_for_value(i, ready, 1));
          body(rank);
          if (rank.rank() != victim) {
            rank.signal(ended, 1);
            for (int const i : {int{target}, int{next_holder}}) ASSERT_TRUE(rank.wait_for_value(i, ended, 1));
          }
        },
        JobKind::mortal);
  }

  static Issued ask(Rank& rank, Waiter& waiter, LockMode mode, bool attempt = false, int at = target) {
    Issued const issued = rank.engine().locks.acquire(rank.peer(at), {0, mode, 0, attempt, &waiter});
    EXPECT_TRUE(!failed(issued.status) || issued.status == Status::busy);
    if (issued.complete) {
      waiter.status = issued.status;
      waiter.complete = true;
    }
    return issued;
  }
  static Status wait(Rank& rank, Waiter const& waiter) {
    rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
    return waiter.status;
  }
  static Status lock(Rank& rank, LockMode mode = LockMode::exclusive, bool attempt = false) {
    Waiter waiter;
    (void)ask(rank, waiter, mode, attempt);
    return wait(rank, waiter);
  }
  static void unlock(Rank& rank) {
    EXPECT_EQ(rank.engine().locks.release(rank.peer(target), 0, 0).status, Status::ok);
    rank.engine().order.complete(rank.peer(target), UINT64_MAX);
    EXPECT_EQ(rank.engine().failures.take(rank.peer(target), 0), Status::ok);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Places, LockFault,
    ::testing::Values(Place{"same_host", MPIX_ENGINE_PROTOCOL_ALL & ~MPIX_ENGINE_PROTOCOL_NETWORK, false},
                      Place{"message", MPIX_ENGINE_PROTOCOL_MESSAGE, false},
                      Place{"other_host", MPIX_ENGINE_PROTOCOL_ALL & ~MPIX_ENGINE_PROTOCOL_NETWORK, true}),
    [](auto const& instance) { return instance.param.name; });

TEST_P(LockFault, LockOfKilledHolderPassesToNextInQueue) {
  for (LockMode const mode : {LockMode::exclusive, LockMode::shared}) {
    run_mortal([mode](Rank& rank) {
      if (rank.rank() == victim) {
        EXPECT_EQ(lock(rank, mode), Status::ok);
        rank.signal(granted, 1);
        ASSERT_TRUE(rank.wait_for_value(next_holder, asked, 1));
        rank.die();
      }
      if (rank.rank() == next_holder) {
        ASSERT_TRUE(rank.wait_for_value(victim, granted, 1));
        Waiter waiter;
        EXPECT_FALSE(ask(rank, waiter, LockMode::exclusive).complete);
        rank.engine().order.complete(rank.peer(target), UINT64_MAX);
        EXPECT_FALSE(waiter.complete);
        rank.signal(asked, 1);
        EXPECT_EQ(wait(rank, waiter), Status::ok);
        unlock(rank);
      }
    });
  }
}

TEST_P(LockFault, RequestAfterTheDeathOfTheHolderIsGranted) {
  for (bool const attempt : {false, true}) {
    run_mortal([attempt](Rank& rank) {
      if (rank.rank() == victim) {
        EXPECT_EQ(lock(rank), Status::ok);
        rank.signal(granted, 1);
        rank.die();
      }
      if (rank.rank() == next_holder) {
        ASSERT_TRUE(rank.wait_for_value(victim, granted, 1));
        ::usleep(100000);
        Status status = Status::busy;
        for (int i = 0; i < 2000 && status == Status::busy; ++i) {
          status = lock(rank, LockMode::exclusive, attempt);
          if (status == Status::busy) ::usleep(5000);
        }
        EXPECT_EQ(status, Status::ok);
        if (status == Status::ok) unlock(rank);
      }
    });
  }
}

TEST_P(LockFault, ProcessKilledInTheQueueIsSkipped) {
  run_mortal([](Rank& rank) {
    if (rank.rank() == target) {
      EXPECT_EQ(lock(rank), Status::ok);
      rank.signal(granted, 1);
      ASSERT_TRUE(rank.wait_for_value(next_holder, asked, 1));
      unlock(rank);
    }
    if (rank.rank() == victim) {
      ASSERT_TRUE(rank.wait_for_value(target, granted, 1));
      Waiter waiter;
      EXPECT_FALSE(ask(rank, waiter, LockMode::exclusive).complete);
      rank.engine().order.complete(rank.peer(target), UINT64_MAX);
      rank.signal(asked, 1);
      ASSERT_TRUE(rank.wait_for_value(next_holder, asked, 1));
      rank.die();
    }
    if (rank.rank() == next_holder) {
      ASSERT_TRUE(rank.wait_for_value(victim, asked, 1));
      Waiter waiter;
      EXPECT_FALSE(ask(rank, waiter, LockMode::exclusive).complete);
      rank.engine().order.complete(rank.peer(target), UINT64_MAX);
      rank.signal(asked, 1);
      EXPECT_EQ(wait(rank, waiter), Status::ok);
      unlock(rank);
    }
  });
}

TEST_P(LockFault, WaitForALockOfAKilledProcessFails) {
  run_mortal([](Rank& rank) {
    Waiter waiter;
    if (rank.rank() == target) {
      Waiter held;
      EXPECT_TRUE(ask(rank, held, LockMode::exclusive, false, victim).status == Status::ok);
      EXPECT_EQ(wait(rank, held), Status::ok);
      rank.signal(granted, 1);
      ASSERT_TRUE(rank.wait_for_value(next_holder, ended, 1));
      // This process may detect the death later than the next holder: until then its message is lost, like
      // the lock.
      Status status = Status::ok;
      for (int i = 0; i < 10000 && !failed(status); ++i) {
        status = rank.engine().locks.release(rank.peer(victim), 0, 0).status;
        ::usleep(1000);
      }
      EXPECT_NE(status, Status::ok);
    }
    if (rank.rank() == victim) {
      ASSERT_TRUE(rank.wait_for_value(next_holder, asked, 1));
      rank.die();
    }
    if (rank.rank() == next_holder) {
      ASSERT_TRUE(rank.wait_for_value(target, granted, 1));
      EXPECT_FALSE(ask(rank, waiter, LockMode::exclusive, false, victim).complete);
      rank.engine().order.complete(rank.peer(victim), UINT64_MAX);
      rank.signal(asked, 1);
      EXPECT_EQ(wait(rank, waiter), Status::transport);
      EXPECT_EQ(
          rank.engine().locks.acquire(rank.peer(victim), {0, LockMode::shared, 0, false, &waiter}).status,
          Status::unreachable);
      rank.signal(ended, 1);
    }
  });
}

}  // namespace
}  // namespace mpixrma::engine
