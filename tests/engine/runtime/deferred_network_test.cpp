/// Deferred UCX: processes of one host that share memory begin without UCX, which starts with the first
/// message, and ask each other for addresses when they need them.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/net/address.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/origin_sessions.hpp"
#include "tests/support/descriptors.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

void defer(mpix_engine_config& config) { config.one_host = 1; }

void defer_with_messages(mpix_engine_config& config) {
  defer(config);
  config.protocols = MPIX_ENGINE_PROTOCOL_DIRECT | MPIX_ENGINE_PROTOCOL_MESSAGE;
}

/// Whether UCX has created a worker in this process. A worker's queue is in shared memory.
bool ucx_has_started() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("ucx_shm_posix") != std::string::npos) return true;
  }
  return false;
}

bool is_deferred(std::span<std::byte const> publication) {
  ProcessAddress address;
  Secret secret;
  return read_published(publication, &address, &secret) && address.is_deferred;
}

/// Memory that only messages reach here.
std::vector<std::int64_t>& heap_of(Rank& rank) {
  static std::vector<std::int64_t> words;
  words.assign(64, 0);
  rank.publish(0, words.data());
  return words;
}

Status add(Rank& rank, int target, std::int64_t operand, std::int64_t* before = nullptr) {
  return run(rank.engine(), rank.peer(target),
             contiguous(ReduceOp::sum, ElementType::int64, &operand, rank.published(target, 0),
                        sizeof operand, before));
}

TEST(DeferredNetwork, StartsWithTheFirstMessageAndNotBefore) {
  run_job(2, defer_with_messages, [](Rank& rank) {
    std::vector<std::int64_t> const& heap = heap_of(rank);
    void* allocated = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(64, &allocated), Status::ok);
    std::memset(allocated, 0, 64);
    rank.publish(1, allocated);
    rank.barrier();
    EXPECT_TRUE(is_deferred(rank.address_of(1 - rank.rank())));
    std::int64_t value = 40 + rank.rank();
    ASSERT_EQ(run(rank.engine(), rank.peer(1 - rank.rank()),
                  contiguous(OpKind::put, &value, rank.published(1 - rank.rank(), 1), sizeof value)),
              Status::ok);
    rank.barrier();
    EXPECT_EQ(*static_cast<std::int64_t*>(allocated), 41 - rank.rank());
    EXPECT_FALSE(ucx_has_started());
    EXPECT_EQ(rank.engine().traffic.statistics().endpoints, 0u);
    rank.barrier();
    // The target sleeps in the barrier below, and its agent executes.
    if (rank.rank() == 0) {
      std::int64_t before = -1;
      ASSERT_EQ(add(rank, 1, 5), Status::ok);
      ASSERT_EQ(add(rank, 1, 2, &before), Status::ok);
      EXPECT_EQ(before, 5);
    }
    rank.barrier();
    EXPECT_TRUE(ucx_has_started());
    EXPECT_EQ(rank.engine().traffic.statistics().endpoints, 1u);
    if (rank.rank() == 1) {
      EXPECT_EQ(heap[0], 7);
      ASSERT_EQ(add(rank, 0, 11), Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(heap[0], rank.rank() == 0 ? 11 : 7);
  });
}

TEST(DeferredNetwork, StartsWithTheEngineOnSeveralHosts) {
  run_job(
      2, [](mpix_engine_config& config) { config.one_host = 0; },
      [](Rank& rank) {
        EXPECT_FALSE(is_deferred(rank.address_of(1 - rank.rank())));
        EXPECT_TRUE(ucx_has_started());
      });
  run_job(
      2,
      [](mpix_engine_config& config) {
        defer(config);
        config.defer_network = 0;
      },
      [](Rank& rank) { EXPECT_FALSE(is_deferred(rank.address_of(1 - rank.rank()))); });
}

/// Adds from `threads` threads of each process to all processes at once.
void add_everywhere(int ranks, int threads, test::Configure const& configure) {
  run_job(ranks, configure, [threads](Rank& rank) {
    std::vector<std::int64_t> const& heap = heap_of(rank);
    rank.barrier();
    constexpr int rounds = 20;
    std::vector<std::thread> workers;
    for (int thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&rank] {
        for (int round = 0; round < rounds; ++round) {
          for (int target = 0; target < rank.size(); ++target) EXPECT_EQ(add(rank, target, 1), Status::ok);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    rank.barrier();
    EXPECT_EQ(heap[0], rank.size() * threads * rounds);
  });
}

TEST(DeferredNetwork, AllProcessesMayNeedItAtOnce) {
  add_everywhere(4, 2, [](mpix_engine_config& config) {
    defer_with_messages(config);
    config.thread_multiple = 1;
  });
}

TEST(DeferredNetwork, AllChannelsStartTogether) {
  add_everywhere(4, 3, [](mpix_engine_config& config) {
    defer(config);
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    config.channels = 4;
    config.thread_multiple = 1;
  });
}

TEST(DeferredNetwork, SomeProcessesMayStartWithIt) {
  add_everywhere(4, 1, [](mpix_engine_config& config, int rank) {
    defer_with_messages(config);
    config.defer_network = rank % 2;
  });
}

TEST(DeferredNetwork, ProcessesWithoutSharedMemoryQueryEachOther) {
  if (::unshare(CLONE_NEWIPC) != 0) GTEST_SKIP() << "the system permits no other namespace";
  add_everywhere(4, 1, [](mpix_engine_config& config, int rank) {
    defer(config);
    if (rank % 2 != 0) {
      EXPECT_EQ(::unshare(CLONE_NEWIPC), 0);
    }
  });
}

TEST(DeferredNetwork, EndedProcessIsUnreachable) {
  run_job(
      3, defer_with_messages,
      [](Rank& rank) {
        std::vector<std::int64_t> const& heap = heap_of(rank);
        rank.signal(1, 1);
        for (int other = 0; other < rank.size(); ++other) ASSERT_TRUE(rank.wait_for_value(other, 1, 1));
        if (rank.rank() == 0) {
          Peer& ended = rank.peer(2);
          rank.signal(2, 1);
          ASSERT_TRUE(rank.wait_for_value(1, 2, 1));
          Status status = Status::ok;
          while (!failed(status)) status = add(rank, 2, 1);
          EXPECT_TRUE(ended.is_lost());
          EXPECT_EQ(add(rank, 1, 9), Status::ok);
          rank.signal(3, 1);
        }
        if (rank.rank() == 1) {
          rank.signal(2, 1);
          ASSERT_TRUE(rank.wait_for_value(0, 3, 1));
          EXPECT_EQ(heap[0], 9);
        }
        if (rank.rank() == 2) {
          ASSERT_TRUE(rank.wait_for_value(0, 2, 1));
          rank.die();
        }
      },
      test::JobKind::mortal);
}

TEST(DeferredNetwork, LateAddressChangesNothingThatOtherThreadsRead) {
  HostIdentity const host = HostIdentity::of_this_process();
  Credentials const credentials = Credentials::make(3);
  ProcessWatch watch;
  Transport transport(common_log);
  Connections connections(transport, watch, host, credentials.process, common_log);
  RequestSender sender(transport, connections, 0);
  OriginSessions sessions(transport, connections, credentials, sender);
  ProcessAddress address;
  address.process = 7;
  address.host = host;
  address.pid = ::getpid();
  address.workers = {std::vector<std::byte>(16)};
  address.is_deferred = true;
  auto state = std::make_unique<PeerState>();
  state->location = connections.locate(address);
  auto const peer = Peer::make(address.process, std::move(state));
  address.host = {};
  address.pid = ::getppid();
  address.workers = {std::vector<std::byte>(100)};
  address.is_deferred = false;
  ASSERT_TRUE(sessions.learn_address(*peer, encode(address)));
  Location const& location = peer->state().location;
  EXPECT_EQ(location.worker.size(), 100u);
  EXPECT_FALSE(location.is_deferred);
  EXPECT_EQ(location.pid, ::getpid());
  EXPECT_TRUE(location.same_host);
}

TEST(DeferredNetwork, OperationsFailIfItCannotStart) {
  run_job(3, defer_with_messages, [](Rank& rank) {
    std::vector<std::int64_t> const& heap = heap_of(rank);
    void* allocated = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(64, &allocated), Status::ok);
    std::memset(allocated, 0, 64);
    rank.publish(1, allocated);
    rank.barrier();
    auto const put = [&](int target, std::int64_t value) {
      return run(rank.engine(), rank.peer(target),
                 contiguous(OpKind::put, &value, rank.published(target, 1), sizeof value));
    };
    for (int other = 0; other < rank.size(); ++other) EXPECT_EQ(put(other, 1), Status::ok);
    if (rank.rank() == 1) test::use_up_descriptors();
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_TRUE(failed(add(rank, 1, 1)));
      EXPECT_EQ(add(rank, 2, 3), Status::ok);
    }
    if (rank.rank() == 1) {
      EXPECT_TRUE(failed(add(rank, 2, 1)));
    }
    rank.barrier();
    EXPECT_EQ(heap[0], rank.rank() == 2 ? 3 : 0);
    // Messages alone are impossible.
    if (rank.rank() == 0) {
      EXPECT_EQ(put(1, 8), Status::ok);
    }
    if (rank.rank() == 1) {
      EXPECT_EQ(put(2, 9), Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(*static_cast<std::int64_t*>(allocated), rank.rank() == 0 ? 1 : 7 + rank.rank());
  });
}

/// Without an operation of its own, a process learns that the signals of another one do not arrive.
TEST(DeferredNetwork, ProcessWithoutMessagesIsSilentToItsPeers) {
  auto const messages_only = [](mpix_engine_config& config) {
    defer(config);
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  };
  run_job(3, messages_only, [](Rank& rank) {
    std::vector<std::int64_t> const& heap = heap_of(rank);
    std::uint64_t const silent = Rank::process_of(1);
    if (rank.rank() == 2) (void)rank.peer(1);  // rank 0 creates the peer object later
    if (rank.rank() == 1) {
      for (int const other : {0, 2}) (void)rank.peer(other);
      test::use_up_descriptors();
    }
    rank.barrier();
    EXPECT_FALSE(rank.rank() != 1 && rank.engine().peers.is_silent(silent));
    if (rank.rank() == 1) {
      EXPECT_TRUE(failed(add(rank, 0, 1)));
      EXPECT_TRUE(failed(add(rank, 2, 1)));
    } else {
      auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!rank.engine().peers.is_silent(silent) && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(rank.engine().peers.is_silent(silent));
      EXPECT_TRUE(rank.peer(1).is_silent());
      EXPECT_TRUE(failed(add(rank, 1, 1)));
      EXPECT_EQ(add(rank, 2 - rank.rank(), 5), Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(heap[0], rank.rank() == 1 ? 0 : 5);
  });
}

}  // namespace
}  // namespace mpixrma::engine
