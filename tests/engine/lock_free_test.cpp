/// The lock-free structures with real threads: tests values, and order under ThreadSanitizer.
/// lock_free_model_test.cpp covers the reorderings that neither this processor nor the sanitizer shows.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "datatype/handle_cache.hpp"
#include "engine/memory/range_slot.hpp"
#include "engine/origin/access_guard.hpp"
#include "engine/origin/mapped_segment.hpp"
#include "engine/origin/outstanding_mark.hpp"

namespace mpixrma::engine {
namespace {

/// Runs `other` concurrently with `self`.
template <typename Self, typename Other>
void run_beside(Self self, Other other) {
  std::thread thread(other);
  self();
  thread.join();
}

TEST(LockFree, ReplacedSegmentIsReadConsistently) {
  constexpr int rounds = 20000;
  std::atomic<std::uint64_t> const generations[2] = {1, 3};
  MappedSegment segment;
  auto const state = [&](unsigned i) {
    auto* const local = reinterpret_cast<std::byte*>(std::uintptr_t{0x10000} * (i + 1) + 0x80 * i);
    return SegmentView{0x1000u + 0x80u * i, 0x100, local, &generations[i], 2 * i + 1};
  };
  std::atomic<bool> stop{false};
  run_beside(
      [&] {
        for (int i = 0; i < rounds; ++i) segment.assign(state(static_cast<unsigned>(i) % 2));
        stop.store(true, std::memory_order_relaxed);
      },
      [&] {
        while (!stop.load(std::memory_order_relaxed)) {
          auto const found = reinterpret_cast<std::uintptr_t>(segment.translate(0x10c0, 8));
          ASSERT_TRUE(found == 0 || found == 0x100c0 || found == 0x200c0) << found;
          SegmentView const view = segment.view();
          if (view.length == 0) continue;
          ASSERT_EQ(view.local, state(view.begin == 0x1000 ? 0 : 1).local);
          ASSERT_EQ(view.generation, view.owner_generation->load());
        }
      });
  EXPECT_EQ(segment.view().generation, 3u);
}

TEST(LockFree, ReusedSlotIsReadConsistently) {
  constexpr std::uint32_t rounds = 20000;
  RangeSlot slot;
  std::atomic<bool> stop{false};
  run_beside(
      [&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
          slot.publish({i * 0x1000u, i * 8u, i, 2u * i + 1});
          slot.withdraw(2u * i + 2);
        }
        stop.store(true, std::memory_order_relaxed);
      },
      [&] {
        PublishedRange range;
        while (!stop.load(std::memory_order_relaxed)) {
          if (!slot.read(&range)) continue;
          ASSERT_EQ(range.base, range.number * std::uint64_t{0x1000});
          ASSERT_EQ(range.length, range.number * std::uint64_t{8});
          ASSERT_EQ(range.generation, range.number * std::uint64_t{2} + 1);
        }
      });
  PublishedRange range;
  EXPECT_FALSE(slot.read(&range));
}

template <typename Mark>
void expect_to_come_after_the_messages() {
  constexpr int rounds = 2000;
  Mark mark;
  int memory = 0;  // not atomic, so that the sanitizer detects a race
  std::atomic<int> asked{0};
  run_beside(
      [&] {
        for (int round = 1; round <= rounds; ++round) {
          while (asked.load(std::memory_order_acquire) != round) std::this_thread::yield();
          memory = -round;
          mark.clear(static_cast<std::uint64_t>(round));
        }
      },
      [&] {
        for (int round = 1; round <= rounds; ++round) {
          mark.raise(static_cast<std::uint64_t>(round));
          asked.store(round, std::memory_order_release);
          while (mark.is_set()) std::this_thread::yield();
          ASSERT_EQ(memory, -round);
          memory = round;
        }
      });
  EXPECT_EQ(memory, rounds);
}

TEST(LockFree, NonWaitingCallsAreOrderedAfterMessages) {
  expect_to_come_after_the_messages<AccessGuard>();
  expect_to_come_after_the_messages<OutstandingMark>();
}

TEST(LockFree, TracedAccessStaysGuarded) {
  AccessGuard guard;
  guard.raise(3);
  guard.trace();
  EXPECT_EQ(guard.sequence(), 3u);
  guard.raise(2);  // later messages are waited for already
  EXPECT_EQ(guard.sequence(), 3u);
  guard.clear(2);
  EXPECT_EQ(guard.sequence(), 3u);
  guard.replace(3, AccessGuard::max_sequence);
  EXPECT_EQ(guard.sequence(), AccessGuard::max_sequence);
  guard.clear(AccessGuard::max_sequence);
  EXPECT_EQ(guard.sequence(), 0u);
  EXPECT_TRUE(guard.is_set());
  EXPECT_TRUE(guard.is_traced());
}

/// Operations without their own position: 7 is that of the newest message.
TEST(LockFree, OperationsIssuedDuringAWaitStayOutstanding) {
  OutstandingMark mark;
  EXPECT_FALSE(mark.is_set());
  mark.raise(7);
  std::uint64_t const first = mark.get();
  std::uint64_t const second = mark.get();
  EXPECT_GE(first, 7u);
  mark.raise(7);  // not waited for
  mark.clear(first);
  EXPECT_TRUE(mark.is_set());
  EXPECT_GT(mark.get(), first);
  mark.clear(mark.get());
  EXPECT_FALSE(mark.is_set());
  EXPECT_EQ(mark.get(), 0u);
  mark.raise(7);
  mark.clear(second);  // by a late thread
  EXPECT_TRUE(mark.is_set());
}

/// A state like that of a communicator, for handles that share one slot of the cache.
struct State {
  PublishedHandle<char*> published;
  int content = 0;  // not atomic, as above
  char* handle() const { return published.get(); }
};
char* handle_of(int number) { return reinterpret_cast<char*>(0x1000L + number * 0x100000L); }

TEST(LockFree, StateFoundByHandleIsInitialized) {
  constexpr int rounds = 2000;
  State state;
  HandleCache<char*, State> cache;
  std::atomic<int> seen{0};
  run_beside(
      [&] {
        for (int round = 1; round <= rounds; ++round) {
          state.content = round;
          state.published.publish(handle_of(round));
          cache.insert(state);
          while (seen.load(std::memory_order_acquire) != round) std::this_thread::yield();
          state.published.withdraw();
          ASSERT_FALSE(state.published.is_published());
        }
      },
      [&] {
        for (int round = 1; round <= rounds; ++round) {
          State* found = nullptr;
          while ((found = cache.find(handle_of(round))) == nullptr) std::this_thread::yield();
          ASSERT_EQ(found->content, round);
          seen.store(round, std::memory_order_release);
        }
      });
  EXPECT_EQ(cache.find(handle_of(rounds)), nullptr);
}

}  // namespace
}  // namespace mpixrma::engine
