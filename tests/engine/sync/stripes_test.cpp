/// Locks over address stripes: mutual exclusion, and the locks of killed holders.
#include "engine/sync/stripes.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "engine/base/backoff.hpp"
#include "tests/support/child.hpp"

namespace mpixrma::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::Child;
using test::Shared;

constexpr StripeSet stripe = 1 << 5;
constexpr StripeSets writing{stripe, 0};
constexpr StripeSets reading{0, stripe};
constexpr unsigned max_readers = 15;

struct Arena {
  StripeTable table;
  alignas(64) std::uint64_t values[2];
};

/// A limit against hanging: a dead holder is detected within about 10 ms.
constexpr milliseconds timeout{20000};

bool acquire_within(UniqueStripeLock& hold, milliseconds time = timeout) {
  auto const end = steady_clock::now() + time;
  while (!hold.acquire()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A hold that a child of this process keeps.
std::unique_ptr<UniqueStripeLock> held(StripeTable& table, StripeSets const& wanted) {
  auto hold = std::make_unique<UniqueStripeLock>(table, wanted);
  EXPECT_TRUE(acquire_within(*hold));
  return hold;
}

TEST(Stripes, ReadersShareAndWritersExclude) {
  Arena arena{};
  UniqueStripeLock reader(arena.table, reading);
  UniqueStripeLock second(arena.table, reading);
  UniqueStripeLock writer(arena.table, writing);
  EXPECT_TRUE(reader.acquire());
  EXPECT_TRUE(second.acquire());
  EXPECT_FALSE(writer.acquire());
  reader.release();
  EXPECT_FALSE(writer.acquire());
  second.release();
  EXPECT_TRUE(writer.acquire());
  EXPECT_FALSE(reader.acquire());
  UniqueStripeLock other(arena.table, writing);
  EXPECT_FALSE(other.acquire());
  writer.release();
  EXPECT_TRUE(reader.acquire());
}

TEST(Stripes, WaitingWriterPrecedesLaterReaders) {
  Arena arena{};
  UniqueStripeLock reader(arena.table, reading);
  UniqueStripeLock later(arena.table, reading);
  EXPECT_TRUE(reader.acquire());
  {
    UniqueStripeLock writer(arena.table, writing);
    EXPECT_FALSE(writer.acquire());
    EXPECT_FALSE(later.acquire());
    reader.release();
    EXPECT_FALSE(later.acquire());
    EXPECT_TRUE(writer.acquire());
    writer.release();
    EXPECT_TRUE(later.acquire());
    EXPECT_FALSE(writer.acquire());
  }
  // A writer that has given up does not block readers.
  {
    UniqueStripeLock writer(arena.table, writing);
    EXPECT_FALSE(writer.acquire());
  }
  EXPECT_TRUE(reader.acquire());
}

TEST(Stripes, ExcessReadersTakeTurns) {
  Arena arena{};
  std::vector<UniqueStripeLock> readers;
  for (unsigned i = 0; i < max_readers; ++i) {
    readers.emplace_back(arena.table, reading);
    ASSERT_TRUE(readers.back().acquire()) << i;
  }
  UniqueStripeLock more(arena.table, reading);
  EXPECT_FALSE(more.acquire());
  readers.front().release();
  EXPECT_TRUE(more.acquire());
}

TEST(Stripes, StreamOfReadersDoesNotStarveWriter) {
  Arena arena{};
  std::atomic<bool> stop{false};
  std::atomic<unsigned> shares{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        UniqueStripeLock hold(arena.table, reading);
        // Some readers always have a share, unless they are locked out.
        if (!hold.acquire()) continue;
        ++shares;
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    unsigned const before = shares;
    while (shares < before + 4) std::this_thread::yield();
    if (i % 2 == 0) {
      UniqueStripeLock writer(arena.table, writing);
      EXPECT_TRUE(acquire_within(writer));
    } else {
      StripeGuard const guard(arena.table, stripe);
    }
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

/// Adds to both values under the exclusive lock and compares them under the shared lock. Returns the sum
/// added.
std::uint64_t add_and_compare(Arena& arena, unsigned seed, int rounds) {
  std::uint64_t added = 0;
  // Different other stripes, acquired before and after the one that guards the values.
  StripeSet const others = (StripeSet{1} << (seed % 5)) | (StripeSet{1} << (40 + seed % 7));
  for (int round = 0; round < rounds; ++round) {
    if (round % 4 == 0) {
      StripeGuard const guard(arena.table, stripe | others);
      ++arena.values[0];
      ++arena.values[1];
      ++added;
      continue;
    }
    bool const write = round % 4 == 1;
    UniqueStripeLock hold(arena.table, write ? StripeSets{stripe, others} : StripeSets{others, stripe});
    if (!acquire_within(hold)) {
      ADD_FAILURE() << "no lock for " << timeout.count() << " ms";
      return added;
    }
    if (write) {
      ++arena.values[0];
      ++arena.values[1];
      ++added;
    } else {
      EXPECT_EQ(arena.values[0], arena.values[1]);
    }
  }
  return added;
}

constexpr unsigned workers = 6;
constexpr int worker_rounds = 20000;
constexpr std::uint64_t worker_sum = worker_rounds / 2;

// Not threads of several processes at once: the thread sanitizer does not see an order of two threads that
// another process establishes.
TEST(Stripes, UpdatesOfThreadsAreExact) {
  Arena arena{};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < workers; ++i)
    threads.emplace_back([&arena, i] { EXPECT_EQ(add_and_compare(arena, i, worker_rounds), worker_sum); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena.values[0], workers * worker_sum);
  EXPECT_EQ(arena.values[1], arena.values[0]);
}

TEST(Stripes, UpdatesOfProcessesAreExact) {
  Shared<Arena> arena;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < workers; ++i) {
    pid_t const pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      EXPECT_EQ(add_and_compare(*arena, i, worker_rounds), worker_sum);
      std::fflush(nullptr);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(pid);
  }
  for (pid_t const pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(arena->values[0], workers * worker_sum);
  EXPECT_EQ(arena->values[1], arena->values[0]);
}

/// Only one reader and one writer, so that they often arrive at the same moment.
TEST(Stripes, SimultaneousReaderAndWriterExcludeEachOther) {
  constexpr std::uint64_t rounds = 1000000;
  Shared<Arena> arena;
  pid_t const pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      UniqueStripeLock writer(arena->table, writing);
      while (!writer.acquire()) cpu_relax();
      __atomic_fetch_add(&arena->values[0], 1, __ATOMIC_RELAXED);
      for (std::uint64_t i = 0; i < round % 32; ++i) cpu_relax();
      __atomic_fetch_add(&arena->values[1], 1, __ATOMIC_RELAXED);
    }
    ::_exit(0);
  }
  std::uint64_t halves = 0;
  while (__atomic_load_n(&arena->values[1], __ATOMIC_RELAXED) < rounds) {
    UniqueStripeLock reader(arena->table, reading);
    if (!reader.acquire()) continue;
    std::uint64_t const first = __atomic_load_n(&arena->values[0], __ATOMIC_RELAXED);
    if (first != __atomic_load_n(&arena->values[1], __ATOMIC_RELAXED)) ++halves;
  }
  EXPECT_EQ(halves, 0u);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

enum class Death { reaped, zombie };

class KilledHolder : public ::testing::TestWithParam<Death> {
 protected:
  void end(Child& child) {
    child.kill();
    if (GetParam() == Death::reaped) child.reap();
  }
  /// Acquires the lock in every way, one after the other.
  void expect_free() {
    UniqueStripeLock writer(arena_->table, writing);
    EXPECT_TRUE(acquire_within(writer));
    writer.release();
    UniqueStripeLock reader(arena_->table, reading);
    EXPECT_TRUE(reader.acquire());
    reader.release();
    StripeGuard const guard(arena_->table, stripe);
  }

  Shared<Arena> arena_;
};

INSTANTIATE_TEST_SUITE_P(Stripes, KilledHolder, ::testing::Values(Death::reaped, Death::zombie),
                         [](auto const& instance) {
                           return instance.param == Death::reaped ? "reaped" : "zombie";
                         });

TEST_P(KilledHolder, InExclusiveUseDoesNotBlockWriters) {
  Child child([&] { return held(arena_->table, writing); });
  UniqueStripeLock early(arena_->table, writing);
  EXPECT_FALSE(early.acquire());
  end(child);
  expect_free();
}

TEST_P(KilledHolder, InExclusiveUseDoesNotBlockReaders) {
  Child child([&] { return held(arena_->table, writing); });
  end(child);
  UniqueStripeLock reader(arena_->table, reading);
  EXPECT_TRUE(acquire_within(reader));
  reader.release();
  expect_free();
}

TEST_P(KilledHolder, InSharedUseDoesNotBlockWriters) {
  Child child([&] { return held(arena_->table, reading); });
  UniqueStripeLock early(arena_->table, writing);
  EXPECT_FALSE(early.acquire());
  early.release();
  end(child);
  expect_free();
}

TEST_P(KilledHolder, ThatWaitedForReaderDoesNotBlockOthers) {
  UniqueStripeLock reader(arena_->table, reading);
  ASSERT_TRUE(reader.acquire());
  Child child([&] {
    auto hold = std::make_unique<UniqueStripeLock>(arena_->table, writing);
    EXPECT_FALSE(hold->acquire());
    return hold;
  });
  UniqueStripeLock second(arena_->table, reading);
  EXPECT_FALSE(second.acquire());
  end(child);
  EXPECT_TRUE(acquire_within(second));
  second.release();
  reader.release();
  expect_free();
}

TEST_P(KilledHolder, OfEveryShareDoesNotBlockReaders) {
  Child child([&] {
    std::vector<std::unique_ptr<UniqueStripeLock>> holds;
    for (unsigned i = 0; i < max_readers; ++i) holds.push_back(held(arena_->table, reading));
    return holds;
  });
  end(child);
  UniqueStripeLock reader(arena_->table, reading);
  EXPECT_TRUE(acquire_within(reader));
  reader.release();
  expect_free();
}

TEST_P(KilledHolder, DoesNotBlockGuard) {
  Child child([&] { return held(arena_->table, writing); });
  end(child);
  { StripeGuard const guard(arena_->table, stripe); }
  expect_free();
}

TEST_P(KilledHolder, OfSetOfStripesReleasesAll) {
  constexpr StripeSets several{0xff0f0ULL << 30, 0xff};
  Child child([&] { return held(arena_->table, several); });
  end(child);
  UniqueStripeLock all(arena_->table, {~StripeSet{0}, 0});
  EXPECT_TRUE(acquire_within(all));
}

/// As an agent that must reject messages: each attempt is a separate object, and attempts on another stripe
/// that is held lie in between.
TEST_P(KilledHolder, IsDetectedByRestartedAttempts) {
  Shared<Arena> living;
  Child const busy([&] { return held(living->table, writing); });
  Child child([&] { return held(arena_->table, writing); });
  end(child);
  bool got = false;
  for (auto const end = steady_clock::now() + timeout; !got && steady_clock::now() < end;) {
    UniqueStripeLock other(living->table, writing);
    EXPECT_FALSE(other.acquire());
    UniqueStripeLock hold(arena_->table, writing);
    got = hold.acquire();
  }
  EXPECT_TRUE(got);
  expect_free();
}

TEST(Stripes, StoppedHolderKeepsItsStripes) {
  for (StripeSets const& use : {writing, reading}) {
    Shared<Arena> arena;
    Child child([&] { return held(arena->table, use); });
    child.stop();
    UniqueStripeLock writer(arena->table, writing);
    EXPECT_FALSE(acquire_within(writer, milliseconds(200)));
    child.kill();
    EXPECT_TRUE(acquire_within(writer));
  }
}

}  // namespace
}  // namespace mpixrma::engine
