/// Few endpoints for many processes: idle connections are closed and reopened transparently.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "engine/net/affordable_endpoints.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/full_length.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::size_t limit = 2;

/// Channels have equal shares of the limit, but at least one connection each.
std::size_t limit_of_channels() {
  return std::max(limit, static_cast<std::size_t>(test::chosen_for_tests("MPIX_TEST_CHANNELS", 1)));
}

struct EngineSetting {
  char const* name;
  bool other_hosts;  ///< the engine treats each process as one on another host
  unsigned paths;
};

class FewEndpoints : public ::testing::TestWithParam<EngineSetting> {
 protected:
  void SetUp() override {
    if (GetParam().other_hosts && ::geteuid() != 0) GTEST_SKIP() << "only root gets a namespace of its own";
  }
  static void configure(mpix_engine_config& config) {
    config.protocols = GetParam().paths;
    config.network_without_hardware = 1;
    config.max_endpoints = limit;
    if (!GetParam().other_hosts) return;
    ASSERT_EQ(::unshare(CLONE_NEWIPC), 0);
    ::setenv("UCX_TLS", "tcp,self", 1);
  }
};

unsigned seed() {
  char const* const given = std::getenv("MPIX_TEST_SEED");
  unsigned const value = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
  std::printf("MPIX_TEST_SEED=%u\n", value);
  return value;
}

/// A word that all other processes increment, and one row per process for puts and gets.
struct Shared {
  std::uint64_t sum = 0;
  std::uint64_t rows[test::max_ranks][512] = {};
};

/// Allocates memory of this process, and publishes it to the others.
Shared* publish_shared(Rank& rank) {
  void* memory = nullptr;
  EXPECT_EQ(rank.engine().memory.allocate(sizeof(Shared), &memory), Status::ok);
  auto* const shared = new (memory) Shared;
  rank.publish(0, shared);
  return shared;
}

/// Waits until the number of connections is within the limit.
void expect_evictions(Rank& rank) {
  std::size_t const allowed = limit_of_channels();
  for (int i = 0; i < 10000 && rank.engine().traffic.statistics().endpoints > allowed; ++i) {
    (void)rank.engine().waits.progress();
    ::usleep(1000);
  }
  EXPECT_LE(rank.engine().traffic.statistics().endpoints, allowed);
}

void exchange(Rank& rank, Peer& peer, Shared* there, std::uint64_t number) {
  std::uint64_t const one = 1;
  std::uint64_t before = 0;
  RmaOp const add = contiguous(ReduceOp::sum, ElementType::uint64, &one,
                               reinterpret_cast<RemoteAddress>(&there->sum), sizeof one, &before);
  ASSERT_EQ(run(rank.engine(), peer, add), Status::ok);
  std::vector<std::uint64_t> out(512, number);
  std::vector<std::uint64_t> in(512);
  auto const row = reinterpret_cast<RemoteAddress>(there->rows[rank.rank()]);
  ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::put, out.data(), row, 4096)), Status::ok);
  ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, in.data(), row, 4096)), Status::ok);
  ASSERT_EQ(in, out);
}

TEST_P(FewEndpoints, RandomTrafficArrivesDespiteEviction) {
  unsigned const first = seed();
  constexpr int processes = 8;
  int const operations =
      (GetParam().paths == MPIX_ENGINE_PROTOCOL_MESSAGE ? 400 : 100) / test::slowness / test::shortened(4);
  run_job(processes, configure, [&](Rank& rank) {
    Shared* const mine = publish_shared(rank);
    rank.barrier();
    std::mt19937 random(first + static_cast<unsigned>(rank.rank()));
    std::size_t most = 0;
    for (int i = 0; i < operations && !::testing::Test::HasFailure(); ++i) {
      int const to = (rank.rank() + 1 + static_cast<int>(random() % (processes - 1))) % processes;
      exchange(rank, rank.peer(to), reinterpret_cast<Shared*>(rank.published(to, 0)), random());
      most = std::max(most, rank.engine().traffic.statistics().endpoints);
    }
    rank.publish(1, static_cast<std::uint64_t>(operations));
    rank.barrier();
    std::uint64_t sum = __atomic_load_n(&mine->sum, __ATOMIC_ACQUIRE);
    rank.publish(2, sum);
    rank.barrier();
    std::uint64_t all = 0;
    for (int r = 0; r < processes; ++r) all += rank.published(r, 2);
    EXPECT_EQ(all, static_cast<std::uint64_t>(processes) * static_cast<std::uint64_t>(operations));
    std::printf("process %d: at most %zu endpoints, %zu at the end\n", rank.rank(), most,
                rank.engine().traffic.statistics().endpoints);
    // All connections are idle: one check later their number is within the limit.
    expect_evictions(rank);
  });
}

TEST_P(FewEndpoints, KeepsConnectionsWithOperationsInFlight) {
  constexpr int processes = 8;
  constexpr int rounds = 20;
  run_job(processes, configure, [&](Rank& rank) {
    Shared* const mine = publish_shared(rank);
    rank.barrier();
    // Operations to all processes at once without waiting: more connections are busy than the limit.
    std::uint64_t const one = 1;
    for (int i = 0; i < rounds; ++i) {
      for (int to = 0; to < processes; ++to) {
        if (to == rank.rank()) continue;
        auto* const there = reinterpret_cast<Shared*>(rank.published(to, 0));
        RmaOp const add = contiguous(ReduceOp::sum, ElementType::uint64, &one,
                                     reinterpret_cast<RemoteAddress>(&there->sum), sizeof one);
        ASSERT_EQ(rank.engine().issue(rank.peer(to), add).status, Status::ok);
      }
    }
    for (int to = 0; to < processes; ++to) rank.engine().order.complete(rank.peer(to), UINT64_MAX);
    rank.barrier();
    EXPECT_EQ(__atomic_load_n(&mine->sum, __ATOMIC_ACQUIRE),
              static_cast<std::uint64_t>(rounds * (processes - 1)));
  });
}

/// Each process holds the lock of its successor and waits for the lock of the process after the successor.
TEST_P(FewEndpoints, EvictionKeepsLocksAndQueuePositions) {
  constexpr int processes = 6;
  run_job(processes, configure, [&](Rank& rank) {
    (void)publish_shared(rank);
    LockId id = 1;
    ASSERT_EQ(rank.engine().locks.create(1, &id), Status::ok);
    rank.barrier();
    Peer& near = rank.peer((rank.rank() + 1) % processes);
    Peer& far = rank.peer((rank.rank() + 2) % processes);
    Waiter held;
    Waiter waiting;
    auto const wait = [&](Waiter const& waiter) {
      rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
      EXPECT_EQ(waiter.status, Status::ok);
    };
    ASSERT_EQ(rank.engine().locks.acquire(near, {.lock = id, .completion = &held}).status, Status::ok);
    wait(held);
    rank.barrier();
    ASSERT_EQ(rank.engine().locks.acquire(far, {.lock = id, .completion = &waiting}).status, Status::ok);
    for (int round = 0; round < 5; ++round) {
      for (int to = 0; to < processes; ++to) {
        if (to != rank.rank())
          exchange(rank, rank.peer(to), reinterpret_cast<Shared*>(rank.published(to, 0)), 7);
      }
      ::usleep(20000);
    }
    EXPECT_FALSE(waiting.complete);
    rank.barrier();
    EXPECT_EQ(rank.engine().locks.release(near, id, 0).status, Status::ok);
    wait(waiting);
    EXPECT_EQ(rank.engine().locks.release(far, id, 0).status, Status::ok);
    for (Peer* const peer : {&near, &far}) {
      rank.engine().order.complete(*peer, UINT64_MAX);
      EXPECT_EQ(rank.engine().failures.take(*peer, 0), Status::ok);
    }
    rank.barrier();
  });
}

/// Lock requests that wait in a batch, while connections are closed all the time.
TEST_P(FewEndpoints, EvictionKeepsBatchedLockRequests) {
  unsigned const first = seed();
  constexpr int processes = 6;
  constexpr std::uint32_t context = 3;
  int const rounds = 40 / test::slowness;
  run_job(processes, configure, [&](Rank& rank) {
    Shared* const mine = publish_shared(rank);
    LockId id = 1;
    ASSERT_EQ(rank.engine().locks.create(1, &id), Status::ok);
    rank.barrier();
    std::mt19937 random(first + static_cast<unsigned>(rank.rank()));
    auto const other = [&] {
      return (rank.rank() + 1 + static_cast<int>(random() % (processes - 1))) % processes;
    };
    int in_stream = 0;
    for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
      int const to = other();
      Peer& peer = rank.peer(to);
      auto const number =
          reinterpret_cast<RemoteAddress>(&reinterpret_cast<Shared*>(rank.published(to, 0))->rows[0]);
      if (rank.engine().locks.acquire_in_stream(peer, {.lock = id}, context)) {
        ++in_stream;
      } else {
        Waiter held;
        ASSERT_EQ(rank.engine().locks.acquire(peer, {.lock = id, .completion = &held}).status, Status::ok);
        rank.engine().waits.until([&] { return held.complete.load(std::memory_order_acquire); });
      }
      ::usleep(static_cast<useconds_t>(random() % 3000));
      if (random() % 2 == 0) (void)rank.engine().waits.progress();
      std::uint64_t value = 0;
      ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, &value, number, sizeof value)), Status::ok);
      ++value;
      ASSERT_EQ(rank.engine().issue(peer, contiguous(OpKind::put, &value, number, sizeof value)).status,
                Status::ok);
      ASSERT_EQ(rank.engine().locks.release(peer, id, 0, context).status, Status::ok);
      rank.engine().order.complete(peer, UINT64_MAX);
      ASSERT_EQ(rank.engine().failures.take(peer, context), Status::ok);
    }
    rank.publish(1, static_cast<std::uint64_t>(rounds));
    rank.barrier();
    rank.publish(2, mine->rows[0][0]);
    rank.barrier();
    std::uint64_t all = 0;
    for (int r = 0; r < processes; ++r) all += rank.published(r, 2);
    EXPECT_EQ(all, static_cast<std::uint64_t>(processes) * static_cast<std::uint64_t>(rounds));
    EXPECT_TRUE(GetParam().paths != MPIX_ENGINE_PROTOCOL_MESSAGE || in_stream > rounds / 2) << in_stream;
    rank.barrier();
  });
}

/// UCX puts whose buffers are free, and whose remote completion nobody requests.
TEST_P(FewEndpoints, ConnectionsWithUnflushedPutsAreEvicted) {
  constexpr int processes = 6;
  run_job(processes, configure, [&](Rank& rank) {
    Shared* const mine = publish_shared(rank);
    rank.barrier();
    std::uint64_t number = 7;
    for (int step = 1; step < processes; ++step) {
      int const to = (rank.rank() + step) % processes;
      auto* const there = reinterpret_cast<Shared*>(rank.published(to, 0));
      auto const row = reinterpret_cast<RemoteAddress>(there->rows[rank.rank()]);
      if ((GetParam().paths & MPIX_ENGINE_PROTOCOL_NETWORK) != 0) await_key(rank, to, row);
      ASSERT_EQ(
          rank.engine().issue(rank.peer(to), contiguous(OpKind::put, &number, row, sizeof number)).status,
          Status::ok);
    }
    expect_evictions(rank);
    for (int to = 0; to < processes; ++to) rank.engine().order.complete(rank.peer(to), UINT64_MAX);
    rank.barrier();
    for (int from = 0; from < processes; ++from)
      EXPECT_EQ(mine->rows[from][0], from == rank.rank() ? 0 : number) << "from process " << from;
    rank.barrier();
  });
}

TEST_P(FewEndpoints, FreesMemoryDuringEviction) {
  constexpr int processes = 4;
  run_job(processes, configure, [&](Rank& rank) {
    for (int round = 0; round < 10; ++round) {
      Shared* const memory = publish_shared(rank);
      rank.barrier();
      for (int step = 1; step < processes; ++step) {
        int const to = (rank.rank() + step) % processes;
        exchange(rank, rank.peer(to), reinterpret_cast<Shared*>(rank.published(to, 0)), 7);
      }
      rank.barrier();
      EXPECT_EQ(rank.engine().memory.free(memory), Status::ok);
      rank.barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Places, FewEndpoints,
                         ::testing::Values(EngineSetting{"neighbours", false, MPIX_ENGINE_PROTOCOL_MESSAGE},
                                           EngineSetting{"hosts", true, MPIX_ENGINE_PROTOCOL_MESSAGE},
                                           EngineSetting{
                                               "hosts_network", true,
                                               MPIX_ENGINE_PROTOCOL_MESSAGE | MPIX_ENGINE_PROTOCOL_NETWORK}),
                         [](auto const& instance) { return std::string(instance.param.name); });

/// Each process connects to process 0 after the previous one has ended. The thread that drove the engine at
/// that end no longer does; UCX, which has no connection left, must detect the next process nevertheless.
TEST(LastEndpoint, AcceptsNextPeerAfterLastOneEnds) {
  constexpr int processes = 7;
  auto const by_tcp = [](mpix_engine_config& config) {
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    ::setenv("UCX_TLS", "tcp,self", 1);
  };
  run_job(
      processes, by_tcp,
      [](Rank& rank) {
        constexpr int place = 0;
        constexpr int invited = 1;
        constexpr int arrived = 2;
        constexpr int leaves = 3;
        static std::uint64_t words[processes] = {};
        auto const address = reinterpret_cast<RemoteAddress>(words);
        auto const number = static_cast<std::uint64_t>(rank.rank());
        rank.signal(place, address);
        for (std::uint64_t other = 1; rank.rank() == 0 && other < processes; ++other) {
          auto const guest = static_cast<int>(other);
          rank.expect_death(guest);
          rank.signal(invited, other);
          ASSERT_TRUE(rank.wait_for_value(guest, arrived, other, 20));
          EXPECT_EQ(__atomic_load_n(&words[other], __ATOMIC_ACQUIRE), other);
          // Long enough for the agent to leave progress to this thread and sleep.
          auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
          rank.engine().waits.until([&] { return std::chrono::steady_clock::now() >= end; });
          rank.signal(leaves, other);
          rank.engine().waits.until([&] { return rank.engine().traffic.statistics().endpoints == 0; });
        }
        if (rank.rank() == 0) return;
        EXPECT_TRUE(rank.wait_for_value(0, invited, number, 120));
        EXPECT_EQ(run(rank.engine(), rank.peer(0),
                      contiguous(OpKind::put, const_cast<std::uint64_t*>(&number),
                                 rank.published(0, place) + number * sizeof number, sizeof number)),
                  Status::ok);
        rank.signal(arrived, number);
        EXPECT_TRUE(rank.wait_for_value(0, leaves, number));
        rank.die();
      },
      test::JobKind::mortal);
}

TEST(AffordableEndpoints, SubtractsOpenDescriptors) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::size_t const at_first = affordable_endpoints();
  EXPECT_LT(at_first, 100u) << "the process has some open from the beginning";
  std::vector<int> opened;
  while (opened.size() < 100) opened.push_back(::dup(STDERR_FILENO));
  EXPECT_EQ(affordable_endpoints(), at_first - 50);
  for (int last = 0; (last = ::dup(STDERR_FILENO)) >= 0;) opened.push_back(last);
  EXPECT_EQ(affordable_endpoints(), 1u) << "none is left";
  for (int const fd : opened) ::close(fd);
  EXPECT_EQ(affordable_endpoints(), at_first);
  few.rlim_cur = RLIM_INFINITY;
  if (before.rlim_max == RLIM_INFINITY) {
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_EQ(affordable_endpoints(), SIZE_MAX);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace mpixrma::engine
