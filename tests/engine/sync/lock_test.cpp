/// Locks of a process: exclusive and shared, in FIFO order, on every path.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "engine/origin/peer_state.hpp"
#include "engine/sync/lock_table.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/full_length.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::engine {
namespace {

/// The lock as held by one owner in this process.
struct Owned {
  Rank& rank;
  int target;
  LockId id;
  std::uint32_t owner = 0;

  /// Issues the request without waiting.
  Issued ask(Waiter& waiter, LockMode mode, bool attempt = false) const {
    Issued const issued = rank.engine().locks.acquire(rank.peer(target), {id, mode, owner, attempt, &waiter});
    if (!failed(issued.status) && issued.complete) waiter.complete = true;
    return issued;
  }
  Status lock(LockMode mode = LockMode::exclusive, bool attempt = false) const {
    Waiter waiter;
    Issued const issued = ask(waiter, mode, attempt);
    if (failed(issued.status)) return issued.status;
    rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
    return waiter.status;
  }
  Status attempt(LockMode mode = LockMode::exclusive) const { return lock(mode, true); }
  Status unlock() const {
    Issued const issued = rank.engine().locks.release(rank.peer(target), id, owner);
    if (failed(issued.status)) return issued.status;
    rank.engine().order.complete(rank.peer(target), issued.sequence);
    return rank.engine().failures.take(rank.peer(target), 0);
  }
};

class Lock : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, Lock, every_path(), path_name);

LockId make_locks(Rank& rank, std::uint32_t count = 1) {
  LockId first = 0;
  EXPECT_EQ(rank.engine().locks.create(count, &first), Status::ok);
  return first;
}

TEST_P(Lock, ProtectedMemoryIsSeenByTheNextHolder) {
  run_job(4, configure, [](Rank& rank) {
    int const rounds = 300 / test::slowness / test::shortened(6);
    constexpr std::size_t words = 600;  // several messages
    Buffers buffers(rank);
    LockId const id = rank.rank() == 0 ? make_locks(rank) : 0;
    rank.publish(3, id);
    rank.barrier();
    std::vector<std::int64_t> values(words);
    for (int round = 0; round < rounds; ++round) {
      int const target = 0;
      int const kind = round % 3;
      Owned const lock{rank, target, static_cast<LockId>(rank.published(target, 3))};
      ASSERT_EQ(lock.lock(), Status::ok);
      RemoteAddress const there = rank.published(target, kind);
      RmaOp get = contiguous(OpKind::get, values.data(), there, words * 8);
      ASSERT_EQ(run(rank.engine(), rank.peer(target), get), Status::ok);
      for (std::size_t i = 1; i < words; ++i) ASSERT_EQ(values[i], values[0]) << "round " << round;
      for (std::int64_t& value : values) ++value;
      // The release alone orders the put before the next holder's get.
      RmaOp const put = contiguous(OpKind::put, values.data(), there, words * 8);
      Issued const issued = rank.engine().issue(rank.peer(target), put);
      ASSERT_EQ(issued.status, Status::ok);
      Issued const given = rank.engine().locks.release(rank.peer(target), lock.id, 0);
      ASSERT_EQ(given.status, Status::ok);
      rank.engine().order.complete_local(rank.peer(target), UINT64_MAX);
    }
    rank.engine().order.complete(rank.peer(0), UINT64_MAX);
    EXPECT_EQ(rank.engine().failures.take(rank.peer(0), 0), Status::ok);
    rank.barrier();
    if (rank.rank() == 0) {
      std::int64_t sum = 0;
      for (int kind = 0; kind < 3; ++kind) sum += *reinterpret_cast<std::int64_t*>(buffers.kind(kind));
      EXPECT_EQ(sum, 4 * rounds);
      EXPECT_EQ(rank.engine().locks.destroy(id, 1), Status::ok);
    }
    rank.barrier();
  });
}

TEST_P(Lock, IsReleasedWithoutReply) {
  run_job(2, configure, [](Rank& rank) {
    constexpr LockId id = shared_lock_count + 1;  // handled by the agent only
    if (rank.rank() == 0) (void)make_locks(rank, id + 1);
    rank.barrier();
    Owned const lock{rank, 0, id};
    Issued given;
    if (rank.rank() == 1) {
      ASSERT_EQ(lock.lock(), Status::ok);
      given = rank.engine().locks.release(rank.peer(0), id, 0);
      ASSERT_EQ(given.status, Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 0) {
      ASSERT_EQ(lock.lock(), Status::ok);
      EXPECT_EQ(lock.unlock(), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_FALSE(rank.peer(0).state().messages.is_executed(given.sequence));
      rank.engine().order.complete(rank.peer(0), given.sequence);
      EXPECT_TRUE(rank.peer(0).state().messages.is_executed(given.sequence));
      // The credit is not exhausted.
      for (int round = 0; round < 1000 / test::slowness; ++round) {
        ASSERT_EQ(lock.lock(), Status::ok);
        given = rank.engine().locks.release(rank.peer(0), id, 0);
      }
      rank.engine().order.complete(rank.peer(0), given.sequence);
      EXPECT_TRUE(rank.peer(0).state().messages.is_executed(given.sequence));
      // The lock is not held.
      EXPECT_EQ(lock.unlock(), Status::bad_argument);
    }
    rank.barrier();
  });
}

TEST_P(Lock, SharedHoldersExcludeExclusiveOnes) {
  run_job(3, configure, [](Rank& rank) {
    // The second lock of the loop is handled by the agent only.
    LockId const first = make_locks(rank, shared_lock_count + 2);
    EXPECT_EQ(first, 0u);
    rank.barrier();
    for (LockId const id : {LockId{1}, LockId{shared_lock_count + 1}}) {
      Owned const lock{rank, 1, id};
      EXPECT_EQ(lock.lock(LockMode::shared), Status::ok);
      rank.barrier();  // all hold it concurrently
      EXPECT_EQ((Owned{rank, 1, id, 7}.attempt()), Status::busy);
      rank.barrier();  // an attempt blocks others while it lasts
      EXPECT_EQ((Owned{rank, 1, id, 7}.attempt(LockMode::shared)), Status::ok);
      EXPECT_EQ((Owned{rank, 1, id, 7}.unlock()), Status::ok);
      rank.barrier();
      EXPECT_EQ(lock.unlock(), Status::ok);
      rank.barrier();
      if (rank.rank() == 2) {
        EXPECT_EQ(lock.attempt(), Status::ok);
      }
      rank.barrier();
      if (rank.rank() != 2) {
        EXPECT_EQ(lock.attempt(), Status::busy);
        EXPECT_EQ(lock.attempt(LockMode::shared), Status::busy);
      }
      rank.barrier();
      if (rank.rank() == 2) {
        EXPECT_EQ(lock.unlock(), Status::ok);
      }
      rank.barrier();
    }
    EXPECT_EQ(rank.engine().locks.destroy(first, shared_lock_count + 2), Status::ok);
  });
}

TEST_P(Lock, IsGrantedInFifoOrder) {
  run_job(4, configure, [](Rank& rank) {
    if (rank.rank() == 0) make_locks(rank);
    std::int64_t turns[2] = {0, 0};
    rank.publish(0, &turns[0]);
    rank.barrier();
    Owned const lock{rank, 0, 0};
    if (rank.rank() == 0) {
      ASSERT_EQ(lock.lock(), Status::ok);
    }
    rank.barrier();
    // Processes join the queue one after the other and get the lock in that order. Two of them share it.
    Waiter waiter;
    bool const shares = rank.rank() >= 2;
    for (int next = 1; next < rank.size(); ++next) {
      if (rank.rank() == next) {
        Issued const issued = lock.ask(waiter, shares ? LockMode::shared : LockMode::exclusive);
        ASSERT_EQ(issued.status, Status::ok);
        EXPECT_FALSE(issued.complete);
        rank.engine().order.complete(rank.peer(0),
                                     UINT64_MAX);  // the request has arrived; the lock is not waited for
      }
      rank.barrier();
    }
    if (rank.rank() == 0) {
      EXPECT_EQ((Owned{rank, 0, 0, 5}.attempt(LockMode::shared)), Status::busy);
      EXPECT_EQ(lock.unlock(), Status::ok);
    } else {
      rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
      EXPECT_EQ(waiter.status, Status::ok);
      std::int64_t const one = 1;
      std::int64_t before = -1;
      RemoteAddress const turns_there = rank.published(0, 0);
      RmaOp const turn = contiguous(ReduceOp::sum, ElementType::int64, &one, turns_there, 8, &before);
      ASSERT_EQ(run(rank.engine(), rank.peer(0), turn), Status::ok);
      if (shares) {
        EXPECT_GE(before, 1);
        // Both hold it at the same time: each waits for the other.
        for (std::int64_t seen = 0; seen != 3;) {
          RmaOp const get = contiguous(OpKind::get, &seen, turns_there, 8);
          ASSERT_EQ(run(rank.engine(), rank.peer(0), get), Status::ok);
        }
      } else {
        EXPECT_EQ(before, 0);
      }
      EXPECT_EQ(lock.unlock(), Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(lock.lock(), Status::ok);
    EXPECT_EQ(lock.unlock(), Status::ok);
    rank.barrier();
  });
}

TEST_P(Lock, IsGrantedFirstToOvertakingShare) {
  run_job(4, configure, [](Rank& rank) {
    if (rank.rank() == 0) make_locks(rank);
    rank.barrier();
    Owned const lock{rank, 0, 0};
    if (rank.rank() == 0) {
      ASSERT_EQ(lock.lock(LockMode::shared), Status::ok);
    }
    rank.barrier();
    Waiter waiter;
    for (int next = 1; next < 3; ++next) {
      if (rank.rank() == next) {
        Issued const issued = lock.ask(waiter, next == 1 ? LockMode::exclusive : LockMode::shared);
        ASSERT_EQ(issued.status, Status::ok);
        rank.engine().order.complete(rank.peer(0), UINT64_MAX);
        EXPECT_FALSE(waiter.complete) << "behind the one who wants it alone";
      }
      rank.barrier();
    }
    auto const has_it = [&] { return waiter.complete.load(std::memory_order_acquire); };
    if (rank.rank() == 3) {
      Issued const issued = rank.engine().locks.acquire(
          rank.peer(0), {lock.id, LockMode::shared, lock.owner, false, &waiter, true});
      ASSERT_EQ(issued.status, Status::ok);
      rank.engine().waits.until(has_it);
      EXPECT_EQ(lock.unlock(), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(lock.unlock(), Status::ok);
    }
    if (rank.rank() == 1 || rank.rank() == 2) {
      rank.engine().waits.until(has_it);
      EXPECT_EQ(waiter.status, Status::ok);
      EXPECT_EQ(lock.unlock(), Status::ok);
    }
    rank.barrier();
  });
}

TEST_P(Lock, RefusesInvalidRequestsWithoutBlocking) {
  run_job(2, configure, [](Rank& rank) {
    make_locks(rank, 2);
    rank.barrier();
    Owned const lock{rank, 1 - rank.rank(), 1};
    Owned const missing{rank, 1 - rank.rank(), 2};
    Owned const far{rank, 1 - rank.rank(), UINT32_MAX};
    EXPECT_EQ(missing.lock(), Status::bad_argument);
    EXPECT_EQ(far.lock(LockMode::shared), Status::bad_argument);
    EXPECT_EQ(missing.unlock(), Status::bad_argument);
    EXPECT_EQ(lock.unlock(), Status::bad_argument);
    EXPECT_EQ((Owned{rank, 1 - rank.rank(), 1, max_lock_owners}.lock()), Status::bad_argument);
    for (LockMode const mode : {LockMode::exclusive, LockMode::shared}) {
      ASSERT_EQ(lock.lock(mode), Status::ok);
      EXPECT_EQ(lock.lock(LockMode::exclusive), Status::bad_argument);
      EXPECT_EQ(lock.lock(LockMode::shared), Status::bad_argument);
      EXPECT_EQ((Owned{rank, 1 - rank.rank(), 1, 9}.unlock()), Status::bad_argument);
      EXPECT_EQ(lock.unlock(), Status::ok);
      EXPECT_EQ(lock.unlock(), Status::bad_argument);
    }
    LockId first = 0;
    EXPECT_EQ(rank.engine().locks.create(0, &first), Status::bad_argument);
    EXPECT_EQ(rank.engine().locks.create(LockTable::max_locks, &first), Status::out_of_memory);
    EXPECT_EQ(rank.engine().locks.destroy(1, 2), Status::bad_argument);
    rank.barrier();
    // Waiting requests fail when the lock is destroyed.
    ASSERT_EQ(lock.lock(), Status::ok);
    Waiter waiter;
    Owned const second{rank, 1 - rank.rank(), 1, 3};
    Issued const issued = second.ask(waiter, LockMode::exclusive);
    ASSERT_EQ(issued.status, Status::ok);
    rank.engine().order.complete(rank.peer(1 - rank.rank()), issued.sequence);
    rank.barrier();
    EXPECT_EQ(rank.engine().locks.destroy(0, 2), Status::ok);
    rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
    EXPECT_EQ(waiter.status, Status::bad_argument);
    rank.barrier();
    EXPECT_EQ(lock.unlock(), Status::bad_argument);
    rank.barrier();
    // The numbers are reused, and the locks are free.
    EXPECT_EQ(make_locks(rank, 2), 0u);
    rank.barrier();
    EXPECT_EQ(lock.attempt(), Status::ok);
    EXPECT_EQ(lock.unlock(), Status::ok);
    rank.barrier();
  });
}

/// Threads and processes with two locks, exclusive and shared, also by attempts.
TEST_P(Lock, ExcludesThreadsAndProcesses) {
  run_job(3, configure, [](Rank& rank) {
    make_locks(rank, 2);
    rank.barrier();
    int const rounds = 200 / test::slowness / test::shortened(4);
    // Incremented by a get and a separate put, so that increments are lost unless the lock excludes others.
    std::int64_t counters[2] = {0, 0};
    rank.publish(0, &counters[0]);
    rank.publish(1, &counters[1]);
    rank.barrier();
    std::atomic<int> done{0};
    auto const body = [&](std::uint32_t thread) {
      for (int round = 0; round < rounds; ++round) {
        int const target = round % rank.size();
        LockId const id = static_cast<LockId>(round / 3 % 2);
        Owned const lock{rank, target, id, thread};
        bool const reads = round % 5 == 4;
        LockMode const mode = reads ? LockMode::shared : LockMode::exclusive;
        if (round % 7 == 6) {
          Status status = Status::busy;
          while (status == Status::busy) status = lock.attempt(mode);
          ASSERT_EQ(status, Status::ok);
        } else {
          ASSERT_EQ(lock.lock(mode), Status::ok);
        }
        std::int64_t value = 0;
        RemoteAddress const there = rank.published(target, static_cast<int>(id));
        RmaOp const get = contiguous(OpKind::get, &value, there, 8);
        ASSERT_EQ(run(rank.engine(), rank.peer(target), get), Status::ok);
        if (!reads) {
          ++value;
          RmaOp put = contiguous(OpKind::put, &value, there, 8);
          ASSERT_EQ(run(rank.engine(), rank.peer(target), put), Status::ok);
        }
        ASSERT_EQ(lock.unlock(), Status::ok);
      }
      ++done;
    };
    std::thread other(body, 1);
    body(0);
    other.join();
    rank.publish(2, static_cast<std::uint64_t>(done.load()));
    rank.barrier();
    int exclusive = 0;
    for (int round = 0; round < rounds; ++round) {
      if (round % 5 != 4 && round % 3 == rank.rank()) ++exclusive;
    }
    EXPECT_EQ(counters[0] + counters[1], 2 * 3 * exclusive);
    EXPECT_EQ(rank.engine().locks.destroy(0, 2), Status::ok);
    rank.barrier();
  });
}

/// Four origins contend for a fixed number of turns, and each turn is counted once; prints the share of each.
TEST_P(Lock, CountsEachTurnOfContendingOriginsOnce) {
  run_job(5, configure, [](Rank& rank) {
    if (rank.rank() == 0) make_locks(rank);
    rank.barrier();
    auto const total = static_cast<std::uint64_t>(4000 / test::slowness / test::shortened(10));
    std::int64_t count = 0;
    rank.publish(0, &count);
    rank.barrier();
    std::uint64_t own = 0;
    while (rank.rank() != 0) {
      Owned const lock{rank, 0, 0};
      ASSERT_EQ(lock.lock(), Status::ok);
      std::int64_t value = 0;
      RemoteAddress const there = rank.published(0, 0);
      ASSERT_EQ(run(rank.engine(), rank.peer(0), contiguous(OpKind::get, &value, there, 8)), Status::ok);
      bool const last = value >= static_cast<std::int64_t>(total);
      ++value;
      ASSERT_EQ(run(rank.engine(), rank.peer(0), contiguous(OpKind::put, &value, there, 8)), Status::ok);
      ASSERT_EQ(lock.unlock(), Status::ok);
      if (last) break;
      ++own;
    }
    rank.publish(1, own);
    rank.barrier();
    if (rank.rank() != 0) return;
    std::uint64_t sum = 0;
    for (int i = 1; i < 5; ++i) sum += rank.published(i, 1);
    EXPECT_EQ(sum, total);
    for (int i = 1; i < 5; ++i)
      std::printf("origin %d: %.1f %% of the turns\n", i,
                  100.0 * static_cast<double>(rank.published(i, 1)) / static_cast<double>(total));
  });
}

}  // namespace
}  // namespace mpixrma::engine
