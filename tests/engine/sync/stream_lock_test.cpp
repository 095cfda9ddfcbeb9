/// Locks for which the stream of messages waits at the target, instead of their owner.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "engine/proto/message.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::uint32_t context = 7;

void messages_only(mpix_engine_config& config) {
  config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  config.fragment_bytes = 4096;
  config.credit_bytes = 16384;
}

/// A lock of a rank, and a word of its memory.
struct StreamTarget {
  explicit StreamTarget(Rank& job, int owner = 0) : rank(job), number(owner) {
    if (rank.rank() == number) {
      EXPECT_EQ(rank.engine().locks.create(1, &id), Status::ok);
    }
    rank.publish(2 * number, word.get());
    rank.publish(2 * number + 1, id);
    rank.barrier();
    id = static_cast<LockId>(rank.published(number, 2 * number + 1));
    there = rank.published(number, 2 * number);
  }

  /// Returns false if it had to wait for the lock.
  bool lock(LockMode mode = LockMode::exclusive) const {
    auto const issued =
        rank.engine().locks.acquire_in_stream(peer(), {id, mode, 0, false, nullptr, false}, context);
    if (issued) {
      EXPECT_EQ(issued->status, Status::ok);
      return true;
    }
    Waiter waiter;
    Issued const waited = rank.engine().locks.acquire(peer(), {id, mode, 0, false, &waiter});
    EXPECT_EQ(waited.status, Status::ok);
    if (!waited.complete) rank.engine().waits.until([&] { return waiter.complete.load(); });
    return false;
  }
  void unlock() const { EXPECT_EQ(rank.engine().locks.release(peer(), id, 0, context).status, Status::ok); }
  Status complete() const {
    rank.engine().order.complete(peer(), UINT64_MAX);
    return rank.engine().failures.take(peer(), context);
  }
  void put(std::int64_t const& value) const {
    RmaOp const transfer = contiguous(OpKind::put, const_cast<std::int64_t*>(&value), there, sizeof value);
    EXPECT_EQ(rank.engine().issue(peer(), transfer).status, Status::ok);
  }
  std::int64_t get() const {
    std::int64_t value = -1;
    EXPECT_EQ(run(rank.engine(), peer(), contiguous(OpKind::get, &value, there, sizeof value)), Status::ok);
    return value;
  }
  /// Starts deferred UCX. A stream that waits for the start takes no lock requests.
  void connect() const { (void)get(); }
  Peer& peer() const { return rank.peer(number); }

  Rank& rank;
  int number;
  std::unique_ptr<std::int64_t> word = std::make_unique<std::int64_t>(0);
  LockId id = 0;
  RemoteAddress there = 0;
};

TEST(StreamLock, ProtectsOperationsThatFollowIt) {
  run_job(4, messages_only, [](Rank& rank) {
    constexpr int rounds = 400 / test::slowness;
    StreamTarget const target(rank);
    int in_stream = 0;
    for (int round = 0; round < rounds && rank.rank() != 0; ++round) {
      in_stream += target.lock() ? 1 : 0;
      std::int64_t const next = target.get() + 1;
      target.put(next);
      target.unlock();
      if (round % 3 == 0) {
        EXPECT_EQ(target.complete(), Status::ok);
      }
    }
    EXPECT_EQ(target.complete(), Status::ok);
    EXPECT_TRUE(rank.rank() == 0 || in_stream > rounds / 2) << in_stream;
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(*target.word, 3 * rounds);
    }
    rank.barrier();
  });
}

TEST(StreamLock, DelaysOperationsWithoutBlockingTheirOrigin) {
  run_job(3, messages_only, [](Rank& rank) {
    StreamTarget const target(rank);
    static constexpr std::int64_t value = 5;
    if (rank.rank() == 1) {
      (void)target.lock();
      EXPECT_EQ(target.complete(), Status::ok);  // it has the lock
    }
    rank.barrier();
    if (rank.rank() == 2) {
      target.connect();
      EXPECT_TRUE(target.lock());
      target.put(value);
      target.unlock();
    }
    rank.barrier();
    if (rank.rank() == 1) {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(target.get(), 0);
        ::usleep(1000);
      }
      target.unlock();
    }
    EXPECT_EQ(target.complete(), Status::ok);
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(*target.word, value);
    }
    rank.barrier();
  });
}

TEST(StreamLock, CanBeAwaitedWithoutOperations) {
  run_job(3, messages_only, [](Rank& rank) {
    StreamTarget const target(rank);
    if (rank.rank() == 1) {
      (void)target.lock();
      EXPECT_EQ(target.complete(), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 2) {
      target.connect();
      EXPECT_TRUE(target.lock());
      for (int i = 0; i < 50; ++i) EXPECT_FALSE(rank.engine().order.test(target.peer(), UINT64_MAX));
      rank.signal(2, 1);
      EXPECT_EQ(target.complete(), Status::ok);
      target.unlock();
      EXPECT_EQ(target.complete(), Status::ok);
    }
    if (rank.rank() == 1) {
      while (__atomic_load_n(rank.place(2, 2), __ATOMIC_ACQUIRE) == 0) rank.engine().waits.progress();
      ::usleep(2000);
      target.unlock();
    }
    EXPECT_EQ(target.complete(), Status::ok);
    rank.barrier();
  });
}

TEST(StreamLock, IsBatchedWithOperationsUnderIt) {
  run_job(2, messages_only, [](Rank& rank) {
    static constexpr std::int64_t values[] = {3, 4};
    StreamTarget const target(rank);
    target.connect();
    for (std::int64_t const& value : values) {
      if (rank.rank() != 1) continue;
      EXPECT_EQ(target.complete(), Status::ok);
      auto const before = rank.engine().traffic.statistics();
      EXPECT_TRUE(target.lock());
      target.put(value);
      target.unlock();
      EXPECT_EQ(target.complete(), Status::ok);
      auto const after = rank.engine().traffic.statistics();
      EXPECT_EQ(after.requests_in_batches - before.requests_in_batches, 3u);
    }
    // Only the lock and its release, for which complete() waits.
    if (rank.rank() == 1) {
      auto const before = rank.engine().traffic.statistics();
      EXPECT_TRUE(target.lock());
      target.unlock();
      EXPECT_EQ(target.complete(), Status::ok);
      auto const after = rank.engine().traffic.statistics();
      EXPECT_EQ(after.requests_in_batches - before.requests_in_batches, 2u);
    }
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(*target.word, 4);
    }
    rank.barrier();
  });
}

/// All processes acquire two locks in the same order, so each gets both, whichever it waits for first.
TEST(StreamLock, IsRequestedAfterEarlierLock) {
  run_job(4, messages_only, [](Rank& rank) {
    StreamTarget const first(rank, 0);
    StreamTarget const second(rank, 1);
    int const rounds = rank.rank() < 2 ? 0 : 300 / test::slowness;
    StreamTarget const& sooner = rank.rank() == 2 ? second : first;
    StreamTarget const& later = rank.rank() == 2 ? first : second;
    for (int round = 0; round < rounds; ++round) {
      (void)first.lock();
      (void)second.lock();
      std::int64_t const next = sooner.get() + 1;
      EXPECT_EQ(later.get(), next - 1);
      sooner.put(next);
      later.put(next);
      sooner.unlock();
      EXPECT_EQ(sooner.complete(), Status::ok);
      later.unlock();
      EXPECT_EQ(later.complete(), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(*first.word, 2 * (300 / test::slowness));
    }
    rank.barrier();
  });
}

/// Operations beyond the credit, and operations of several messages: the lock protects all of them.
TEST(StreamLock, AllowsAnyNumberOfLaterOperations) {
  run_job(3, messages_only, [](Rank& rank) {
    constexpr std::size_t words = 20000;
    StreamTarget const target(rank);
    std::vector<std::int64_t> memory(words);
    rank.publish(3, memory.data());
    rank.barrier();
    std::vector<std::int64_t> const values(words, rank.rank());
    for (int round = 0; round < 20 && rank.rank() != 0; ++round) {
      (void)target.lock();
      for (std::size_t bytes : {std::size_t{64}, std::size_t{4096}, words * 8}) {
        RmaOp const put =
            contiguous(OpKind::put, const_cast<std::int64_t*>(values.data()), rank.published(0, 3), bytes);
        for (int i = 0; i < 10; ++i) ASSERT_EQ(rank.engine().issue(target.peer(), put).status, Status::ok);
      }
      target.unlock();
      rank.engine().order.complete_local(target.peer(), UINT64_MAX);
    }
    EXPECT_EQ(target.complete(), Status::ok);
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_NE(memory[0], 0);
      for (std::int64_t const value : memory) ASSERT_EQ(value, memory[0]);
    }
    rank.barrier();
  });
}

TEST(StreamLock, IsGrantedWhenItsHolderHasDied) {
  run_job(
      3, messages_only,
      [](Rank& rank) {
        constexpr int held = 4;
        constexpr int asked = 5;
        constexpr int done = 6;
        static constexpr std::int64_t value = 9;
        auto const wait_for = [&](int process, int place) {
          while (__atomic_load_n(rank.place(process, place), __ATOMIC_ACQUIRE) == 0)
            rank.engine().waits.progress();
        };
        StreamTarget const target(rank);
        if (rank.rank() == 1) {
          (void)target.lock();
          EXPECT_EQ(target.complete(), Status::ok);
          rank.signal(held, 1);
          wait_for(2, asked);
          rank.die();
        }
        if (rank.rank() == 2) {
          wait_for(1, held);
          target.connect();
          EXPECT_TRUE(target.lock());
          target.put(value);
          target.unlock();
          EXPECT_FALSE(rank.engine().order.test(target.peer(), UINT64_MAX));
          rank.signal(asked, 1);
          EXPECT_EQ(target.complete(), Status::ok);
          rank.signal(done, 1);
        }
        wait_for(2, done);
        if (rank.rank() == 0) {
          EXPECT_EQ(*target.word, value);
        }
      },
      test::JobKind::mortal);
}

TEST(StreamLock, MissingLockIsReportedByItsContext) {
  run_job(2, messages_only, [](Rank& rank) {
    StreamTarget target(rank);
    if (rank.rank() == 1) {
      target.connect();
      target.id += 17;
      EXPECT_TRUE(target.lock());
      EXPECT_EQ(target.complete(), Status::bad_argument);
      target.id -= 17;
      EXPECT_TRUE(target.lock());
      EXPECT_TRUE(target.lock());  // it has the lock already
      EXPECT_EQ(target.complete(), Status::bad_argument);
      target.unlock();
      EXPECT_EQ(target.complete(), Status::ok);
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
