/// A target that runs out of memory while it answers: every operation is executed once and answered.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <vector>

#include "tests/support/engine_paths.hpp"

namespace {

constexpr std::size_t message_bytes = 60 * 1024;  // size of a message with several answers

/// Allocation failures of this process for such messages: every second one fails while the count is positive.
std::atomic<int> failures{0};
std::atomic<unsigned> requests{0};

bool fails() { return failures.load() > 0 && ++requests % 2 == 1 && failures.fetch_sub(1) > 0; }

}  // namespace

// Not inlined, because the compiler would warn about malloc() and free() behind these.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (bytes == message_bytes && fails()) throw std::bad_alloc();
  void* const memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace mpixrma::engine {
namespace {

constexpr int operations = 64;
constexpr int rounds = 5;

/// Issues operations of three kinds before waiting for the first.
void operate(Rank& rank, std::int64_t round) {
  Engine& engine = rank.engine();
  Peer& peer = rank.peer(1);
  RemoteAddress const there = rank.published(1, 0);
  std::array<std::int64_t, operations> values{};
  std::array<std::int64_t, operations> before{};
  std::array<std::int64_t, operations> got{};
  std::array<Waiter, 3 * operations> waiters;
  auto const issue = [&](auto operation, std::size_t index) {
    operation.completion = &waiters[index];
    operation.flags = operation.flags | OpFlags::remote_completion | OpFlags::ordered;
    ASSERT_FALSE(failed(engine.issue(peer, operation).status));
  };
  for (std::size_t i = 0; i < operations; ++i) {
    values[i] = round * operations + static_cast<std::int64_t>(i);
    issue(contiguous(OpKind::put, &values[i], there + 8 * i, 8), 3 * i);
    issue(contiguous(ReduceOp::sum, ElementType::int64, &values[i], there + 8 * i, 8, &before[i]), 3 * i + 1);
    issue(contiguous(OpKind::get, &got[i], there + 8 * i, 8), 3 * i + 2);
  }
  for (Waiter& waiter : waiters) {
    engine.waits.until(peer, [&] { return waiter.complete.load(std::memory_order_acquire); });
    ASSERT_EQ(waiter.status, Status::ok);
  }
  EXPECT_EQ(before, values);
  for (std::size_t i = 0; i < operations; ++i) EXPECT_EQ(got[i], 2 * values[i]);
}

TEST(ScarceMemory, LosesNoReply) {
  constexpr int shortages = 5;
  auto const by_messages = [](mpix_engine_config& config) {
    config.paths = MPIX_ENGINE_PATH_MESSAGE;
    config.batch_bytes = message_bytes;
  };
  test::run_job(2, by_messages, [=](Rank& rank) {
    std::vector<std::int64_t> memory(operations);
    rank.publish(0, memory.data());
    rank.barrier();
    int seen = 0;
    for (int round = 0; round < rounds; ++round) {
      if (rank.rank() == 1) failures = shortages;
      rank.barrier();
      if (rank.rank() == 0) operate(rank, round);
      rank.barrier();
      seen += shortages - failures.exchange(0);
    }
    if (rank.rank() == 1) {
      EXPECT_GT(seen, 0) << "memory never ran short";
    }
  });
}

}  // namespace
}  // namespace mpixrma::engine
