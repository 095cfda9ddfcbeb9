/// Processes that run out of memory: every operation is executed once and gets its reply, or completes with
/// an error, and no call throws once its operation is issued.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <vector>

#include "engine/op/late_error.hpp"
#include "tests/support/engine_paths.hpp"

namespace {

constexpr std::size_t message_bytes = 60 * 1024;  // size of a message with several replies

/// Allocation failures of this process for such messages: every second one fails while the count is positive.
std::atomic<int> failures{0};
std::atomic<unsigned> requests{0};

/// Number of allocations of this thread until one fails, once; negative: none fails.
thread_local int allocations_left = -1;

bool fails() { return failures.load() > 0 && ++requests % 2 == 1 && failures.fetch_sub(1) > 0; }

}  // namespace

// Not inlined, because the compiler would warn about malloc() and free() behind these.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (bytes == message_bytes && fails()) throw std::bad_alloc();
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
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
void operate(Rank& rank, int target, std::int64_t round) {
  Engine& engine = rank.engine();
  Peer& peer = rank.peer(target);
  RemoteAddress const there = rank.published(target, 0);
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

void by_messages(mpix_engine_config& config) {
  config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  config.batch_bytes = message_bytes;
}

TEST(ScarceMemory, LosesNoReply) {
  constexpr int shortages = 5;
  test::run_job(2, &by_messages, [=](Rank& rank) {
    std::vector<std::int64_t> memory(operations);
    rank.publish(0, memory.data());
    rank.barrier();
    int seen = 0;
    for (int round = 0; round < rounds; ++round) {
      if (rank.rank() == 1) failures = shortages;
      rank.barrier();
      if (rank.rank() == 0) operate(rank, 1, round);
      rank.barrier();
      seen += shortages - failures.exchange(0);
    }
    if (rank.rank() == 1) {
      EXPECT_GT(seen, 0) << "memory never ran short";
    }
  });
}

/// The origin lacks memory for replies to the other process, which it sends within its own calls.
TEST(ScarceMemory, RepliesInterruptNoCallOfTheOrigin) {
  test::run_job(2, &by_messages, [](Rank& rank) {
    std::vector<std::int64_t> memory(operations);
    std::vector<char> source(message_bytes * 3 / 4);  // not copied into a message
    std::vector<char> sink(source.size());
    rank.publish(0, memory.data());
    rank.publish(1, sink.data());
    rank.barrier();
    if (rank.rank() == 1) {
      for (int round = 0; round < rounds; ++round) operate(rank, 0, round);
      rank.signal(2, 1);
      rank.barrier();
      return;
    }
    constexpr int shortages = 1000;
    failures = shortages;
    while (__atomic_load_n(rank.place(1, 2), __ATOMIC_ACQUIRE) == 0) {
      RmaOp const put = contiguous(OpKind::put, source.data(), rank.published(1, 1), source.size());
      ASSERT_NO_THROW(ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok));
    }
    EXPECT_LT(failures.exchange(0), shortages) << "memory never ran short";
    rank.barrier();
  });
}

/// The message needs a copy of the data. Its position in the stream is taken, so the connection is given up.
TEST(ScarceMemory, OperationWithoutMemoryForItsMessageCompletesWithAnError) {
  test::run_job(2, &by_messages, [](Rank& rank) {
    std::vector<char> memory(2 * message_bytes);
    rank.publish(0, memory.data());
    rank.barrier();
    if (rank.rank() == 0) {
      RmaOp put = contiguous(OpKind::put, memory.data(), rank.published(1, 0), message_bytes);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      Dimension const every_second{message_bytes / 8, 16};
      put.origin_layout = {8, {&every_second, 1}, {}};
      failures = 1;
      Status status = Status::ok;
      ASSERT_NO_THROW(status = run(rank.engine(), rank.peer(1), put));
      EXPECT_EQ(failures, 0);
      EXPECT_EQ(status, Status::transport);
      EXPECT_EQ(run(rank.engine(), rank.peer(1), put), Status::unreachable);
    }
    rank.barrier();
  });
}

/// Whichever of the allocations for a peer fails, the peer that is made later learns of the end of its
/// process.
TEST(ScarceMemory, PeerThatIsMadeAgainIsTheOnlyOne) {
  auto const deferred = [](mpix_engine_config& config) {
    by_messages(config);
    config.one_host = 1;
  };
  test::run_job(
      2, deferred,
      [](Rank& rank) {
        std::int64_t word = 0;
        rank.publish(0, &word);
        rank.barrier();
        if (rank.rank() == 1) {
          ASSERT_TRUE(rank.wait_for_value(0, 1, 1));
          rank.die();
        }
        int refused = 0;
        Peer* peer = nullptr;
        for (; peer == nullptr; ++refused) {
          allocations_left = refused;
          try {
            peer = rank.engine().peers.find(Rank::process_of(1));
          } catch (std::bad_alloc const&) {
          }
          allocations_left = -1;
        }
        EXPECT_GT(refused, 5) << "memory hardly ran short";
        RmaOp const put = contiguous(OpKind::put, &word, rank.published(1, 0), sizeof word);
        ASSERT_EQ(run(rank.engine(), *peer, put), Status::ok);
        rank.signal(1, 1);
        while (
            !failed(run(rank.engine(), *peer, put))) {  // if it never fails, the job's timeout ends the test
        }
        EXPECT_TRUE(peer->is_unreachable_by_messages());
        rank.engine().peers.release(*peer);
      },
      test::JobKind::mortal);
}

TEST(ScarceMemory, EveryFailureIsCounted) {
  constexpr std::uint32_t issuer = 7;
  constexpr std::uint32_t other_issuer = 8;
  LateErrors errors;
  auto const keep_without_memory = [&](std::uint32_t context, Status status) {
    allocations_left = 0;
    errors.keep(context, {.status = status, .memory = {}});
    allocations_left = -1;
  };
  for (int round = 0; round < 2; ++round) {
    keep_without_memory(issuer, Status::transport);
    keep_without_memory(issuer, Status::unreachable);
    keep_without_memory(other_issuer, Status::unreachable);
    EXPECT_EQ(errors.take(other_issuer).count, 0u);
    LateErrors::Failures const failures = errors.take(issuer);
    EXPECT_EQ(failures.first.status, Status::transport);
    EXPECT_EQ(failures.count, 3u);
  }
}

/// Puts with `layout` and `flags` while an allocation fails, in each job another one.
void put_without_memory(Layout const& layout, OpFlags flags) {
  constexpr int allocations = 24;  // more than issuing the put makes
  for (int failing = 0; failing < allocations; ++failing) {
    SCOPED_TRACE(failing);
    test::run_job(2, &by_messages, [&](Rank& rank) {
      std::vector<char> memory(4 * message_bytes);
      rank.publish(0, memory.data());
      rank.barrier();
      if (rank.rank() == 0) {
        Peer& peer = rank.peer(1);
        RmaOp const small = contiguous(OpKind::put, memory.data(), rank.published(1, 0), 8);
        ASSERT_EQ(run(rank.engine(), peer, small), Status::ok);
        RmaOp put = contiguous(OpKind::put, memory.data(), rank.published(1, 0), layout.size());
        put.target_layout = layout;
        put.flags = flags;
        Status status = Status::out_of_memory;
        allocations_left = failing;
        try {
          status = rank.engine().issue(peer, put).status;
        } catch (std::bad_alloc const&) {
        }
        EXPECT_TRUE(failing != 0 || allocations_left < 0) << "memory did not run short";
        allocations_left = -1;
        // If an operation is left behind, the job's timeout ends the test.
        rank.engine().order.complete(peer, UINT64_MAX);
        bool const lost = failed(rank.engine().failures.take(peer, 0)) || status == Status::transport;
        EXPECT_EQ(failed(run(rank.engine(), peer, small)), lost);
        // The stripes of the origin are free.
        RmaOp own = contiguous(OpKind::put, memory.data(), rank.published(0, 0), 8);
        own.flags = OpFlags::atomic;
        EXPECT_EQ(run(rank.engine(), rank.peer(0), own), Status::ok);
      }
      rank.barrier();
    });
  }
}

TEST(ScarceMemory, OperationsAreExecutedOrFailWhicheverAllocationFails) {
  std::vector<LayoutRun> runs;
  for (std::ptrdiff_t i = 0; i < 2000; ++i) runs.push_back({i * 24 + i % 7 % 2 * 8, 8});  // no regular list
  put_without_memory({8 * runs.size(), {}, runs}, OpFlags::none);
  runs.resize(65);
  Dimension const twice{2, 1 << 15};
  put_without_memory({8 * runs.size(), {&twice, 1}, runs}, OpFlags::atomic);
}

/// UCX sends the data from the origin buffer, and calls the engine when it has.
TEST(ScarceMemory, EndOfASendNeedsNoMemory) {
  test::run_job(2, &by_messages, [](Rank& rank) {
    std::vector<char> memory(message_bytes * 3 / 4);
    rank.publish(0, memory.data());
    rank.barrier();
    if (rank.rank() == 0) {
      RmaOp const put = contiguous(OpKind::put, memory.data(), rank.published(1, 0), memory.size());
      Issued const issued = rank.engine().issue(rank.peer(1), put);
      ASSERT_EQ(issued.status, Status::ok);
      for (bool complete = false; !complete;) {
        allocations_left = 0;
        try {
          rank.engine().order.complete(rank.peer(1), issued.sequence);
          complete = true;
        } catch (std::bad_alloc const&) {
        }
        allocations_left = -1;
      }
    }
    rank.barrier();
  });
}

/// A UCX put is posted and completes, or is not posted at all, whichever of its allocations fails.
TEST(ScarceMemory, NetworkPutIsCompleteOrNotStarted) {
  auto const by_network = [](mpix_engine_config& config) {
    config.protocols = MPIX_ENGINE_PROTOCOL_NETWORK;
    config.network_without_hardware = 1;
  };
  test::run_job(2, by_network, [](Rank& rank) {
    void* memory = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(8, &memory), Status::ok);
    std::memset(memory, 0, 8);
    rank.publish(0, memory);
    rank.barrier();
    if (rank.rank() == 0) await_key(rank, 1, rank.published(1, 0));
    std::int64_t expected = 0;
    int refused = 0;
    for (int failing = 0; rank.rank() == 0 && failing < 12; ++failing) {
      Peer& peer = rank.peer(1);
      std::int64_t value = 1000 + failing;
      std::int64_t got = -1;
      Waiter remote;
      RmaOp put = contiguous(OpKind::put, &value, rank.published(1, 0), 8);
      put.flags = OpFlags::remote_completion;
      put.completion = &remote;
      Issued issued{Status::out_of_memory, true, 0};
      allocations_left = failing;
      try {
        issued = rank.engine().issue(peer, put);
      } catch (std::bad_alloc const&) {
      }
      allocations_left = -1;
      if (failed(issued.status)) {
        ++refused;
      } else {
        expected = value;
        if (!issued.complete) rank.engine().waits.until(peer, [&] { return remote.complete.load(); });
      }
      rank.engine().order.complete(peer, UINT64_MAX);
      ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, &got, put.target, 8)), Status::ok);
      EXPECT_EQ(got, expected) << "allocation " << failing;
    }
    if (rank.rank() == 0) {
      EXPECT_GT(refused, 1) << "memory never ran short";
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
