/// Deferred UCX: processes of one host that share memory begin without UCX, which starts with the first
/// message, and ask each other for addresses when they need them.
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/net/address.hpp"
#include "engine/net/address_service.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/origin_sessions.hpp"
#include "tests/support/descriptors.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

void defer(mpix_engine_config& config) { config.one_host = 1; }

void defer_with_messages(mpix_engine_config& config) {
  defer(config);
  config.paths = MPIX_ENGINE_PATH_DIRECT | MPIX_ENGINE_PATH_MESSAGE;
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
    config.paths = MPIX_ENGINE_PATH_MESSAGE;
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

// The queries by themselves.

constexpr std::uint64_t asked = 7;

/// A process with a service, and one that asks it.
struct Pair {
  Credentials target = Credentials::make(asked);
  Credentials origin = Credentials::make(3);
  AddressService service;
  AddressQueries queries{origin};
  std::vector<std::byte> address = std::vector<std::byte>(3000, std::byte{5});
  int starts = 0;

  Pair() { EXPECT_TRUE(service.open(nullptr)); }

  void ask(ServiceAddress const& where) {
    queries.ask(asked, target.secret, std::as_bytes(std::span(&where, 1)));
  }
  /// Drives the query and the service until the query ends, at most `turns` times.
  std::vector<AddressQueries::Answer> progress(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      std::vector<AddressQueries::Answer> answers = queries.progress();
      if (!answers.empty()) return answers;
      service.answer(target, [this] {
        ++starts;
        return std::span<std::byte const>(address);
      });
    }
    return {};
  }
};

constexpr int many_turns = 1000;

TEST(AddressQueries, GetTheAddressOfAnUnawareProcess) {
  Pair pair;
  pair.ask(pair.service.address());
  std::vector<AddressQueries::Answer> const answers = pair.progress(many_turns);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].process, asked);
  EXPECT_EQ(answers[0].failure, nullptr);
  EXPECT_EQ(answers[0].address, pair.address);
  EXPECT_FALSE(pair.queries.are_pending());
}

TEST(AddressQueries, UseUdpIfTheUnixSocketIsMissing) {
  Pair pair;
  ServiceAddress where = pair.service.address();
  if (where.host == 0) GTEST_SKIP() << "no network interface";
  where.name ^= 1;
  pair.ask(where);
  std::vector<AddressQueries::Answer> const answers = pair.progress(many_turns);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].address, pair.address);
}

TEST(AddressQueries, FailWithoutReply) {
  Pair pair;
  pair.ask(ServiceAddress{1, 0, 0});
  std::vector<AddressQueries::Answer> const answers = pair.progress(many_turns);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_NE(answers[0].failure, nullptr);
  pair.queries.ask(asked, pair.target.secret, std::vector<std::byte>(5));
  EXPECT_EQ(pair.progress(many_turns).size(), 1u) << "an address of another length";
}

TEST(AddressQueries, FailIfTheNetworkDoesNotStart) {
  Pair pair;
  pair.address.clear();
  pair.ask(pair.service.address());
  std::vector<AddressQueries::Answer> const answers = pair.progress(many_turns);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_NE(answers[0].failure, nullptr);
}

TEST(AddressQueries, DoNotStartTheNetworkWithoutTheSecret) {
  Pair pair;
  pair.target.secret[0] ^= std::byte{1};
  pair.ask(pair.service.address());
  pair.target.secret[0] ^= std::byte{1};
  EXPECT_TRUE(pair.progress(many_turns).empty());
  EXPECT_EQ(pair.starts, 0);
  EXPECT_TRUE(pair.queries.are_pending());
}

TEST(AddressQueries, MayBeCancelled) {
  Pair pair;
  pair.ask(pair.service.address());
  (void)pair.queries.progress();
  pair.queries.forget(asked);
  EXPECT_FALSE(pair.queries.are_pending());
  EXPECT_TRUE(pair.progress(many_turns).empty());
}

}  // namespace
}  // namespace mpixrma::engine
