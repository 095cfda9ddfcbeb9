/// Several channels: the assignment of peers to channels, and threads that use different channels
/// concurrently.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/net/address.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

TEST(Channels, NeighboursAndEveryNthProcessAreSpreadOverTheWorkers) {
  for (unsigned const workers : {1u, 2u, 3u, 4u, 16u}) {
    for (unsigned const stride : {1u, 2u, 4u, 16u, 64u}) {
      std::vector<std::size_t> counts(workers, 0);
      std::size_t const processes = 64 * workers;
      std::uint64_t const job = std::uint64_t{0x1234567} << 32;
      for (std::size_t i = 0; i < processes; ++i) ++counts.at(worker_for(job + i * stride, workers));
      for (std::size_t const count : counts) {
        EXPECT_GE(count, 32u) << "stride " << stride << ", " << workers << " workers";
        EXPECT_LE(count, 128u) << "stride " << stride << ", " << workers << " workers";
      }
    }
  }
}

TEST(Channels, AddressListsWorkersInOrder) {
  ProcessAddress address;
  address.process = 5;
  for (std::size_t i = 0; i < max_workers; ++i) {
    address.workers.emplace_back(3 * i + 1, static_cast<std::byte>(i));
    std::vector<std::byte> bytes = encode(address);
    ProcessAddress read;
    ASSERT_TRUE(decode(bytes, &read));
    EXPECT_EQ(read.workers, address.workers);
    bytes.pop_back();
    EXPECT_FALSE(decode(bytes, &read));
  }
  address.is_deferred = true;
  ProcessAddress deferred;
  ASSERT_TRUE(decode(encode(address), &deferred));
  EXPECT_TRUE(deferred.is_deferred);
  EXPECT_EQ(deferred.workers, address.workers);
  address.workers.emplace_back(1, std::byte{1});
  ProcessAddress read;
  EXPECT_FALSE(decode(encode(address), &read)) << "more workers than there may be";
  address.workers.clear();
  EXPECT_FALSE(decode(encode(address), &read)) << "no worker";
}

TEST(Channels, RefusesLengthBeyondEndOfAddress) {
  ProcessAddress address;
  address.workers = {std::vector<std::byte>(8), std::vector<std::byte>(8)};
  std::vector<std::byte> const sound = encode(address);
  std::size_t const length_at = sound.size() - 24;
  for (std::uint64_t const length : {std::uint64_t{17}, UINT64_MAX, UINT64_MAX - 7}) {
    std::vector<std::byte> bytes = sound;
    std::memcpy(bytes.data() + length_at, &length, sizeof length);
    ProcessAddress read;
    EXPECT_FALSE(decode(bytes, &read)) << length;
  }
}

constexpr int processes = 5;

struct ChannelCase {
  char const* name;
  std::array<int, processes> channels;  ///< number of channels, by process
  unsigned paths;
  int network_without_hardware;
};

class ChannelJob : public ::testing::TestWithParam<ChannelCase> {
 protected:
  static void configure(mpix_engine_config& config, int rank) {
    config.protocols = GetParam().paths;
    config.network_without_hardware = GetParam().network_without_hardware;
    config.channels = GetParam().channels.at(static_cast<std::size_t>(rank));
    config.fragment_bytes = 4096;
    config.credit_bytes = 16384;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Paths, ChannelJob,
    ::testing::Values(ChannelCase{"one", {1, 1, 1, 1, 1}, MPIX_ENGINE_PROTOCOL_MESSAGE, 0},
                      ChannelCase{"four", {4, 4, 4, 4, 4}, MPIX_ENGINE_PROTOCOL_MESSAGE, 0},
                      ChannelCase{"different", {4, 1, 2, 3, 16}, MPIX_ENGINE_PROTOCOL_MESSAGE, 0},
                      ChannelCase{"four_direct", {4, 4, 4, 4, 4}, MPIX_ENGINE_PROTOCOL_DIRECT, 0},
                      ChannelCase{"four_network", {4, 4, 4, 4, 4}, MPIX_ENGINE_PROTOCOL_NETWORK, 1}),
    [](auto const& instance) { return std::string(instance.param.name); });

/// Runs `body(target, thread)` on a thread for each other process.
template <typename Body>
void on_a_thread_per_target(Rank& rank, Body body) {
  std::vector<std::thread> threads;
  for (int i = 1; i < rank.size(); ++i)
    threads.emplace_back([&rank, body, i] { body((rank.rank() + i) % rank.size(), i - 1); });
  for (std::thread& thread : threads) thread.join();
}

Status fetch_add(Rank& rank, int target, RemoteAddress address, std::int64_t amount, std::int64_t* before) {
  return run(rank.engine(), rank.peer(target),
             contiguous(ReduceOp::sum, ElementType::int64, &amount, address, sizeof amount, before));
}

/// Every process has a thread for every other process. Each pair has its own memory at the target, which
/// reveals lost or misplaced data, and all share a counter and a sum there.
TEST_P(ChannelJob, ThreadPerTargetReadsItsValuesBack) {
  run_job(processes, configure, [](Rank& rank) {
    constexpr std::size_t words = 2048;  // several messages
    constexpr std::int64_t rounds = 60;
    struct Memory {
      std::int64_t counter;
      double sum[64];
      std::int64_t of[processes][words];
    };
    void* base = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(sizeof(Memory), &base), Status::ok);
    auto& memory = *static_cast<Memory*>(base);
    std::memset(base, 0, sizeof(Memory));
    rank.publish(0, base);
    rank.barrier();
    on_a_thread_per_target(rank, [&rank](int target, int) {
      Engine& engine = rank.engine();
      Peer& peer = rank.peer(target);
      RemoteAddress const there = rank.published(target, 0);
      RemoteAddress const own = there + offsetof(Memory, of) + sizeof(Memory::of[0]) * unsigned(rank.rank());
      std::vector<std::int64_t> out(words);
      std::vector<std::int64_t> in(words);
      std::int64_t last = -1;
      for (std::int64_t round = 1; round <= rounds; ++round) {
        std::iota(out.begin(), out.end(), round * 10000 + rank.rank());
        ASSERT_EQ(run(engine, peer, contiguous(OpKind::put, out.data(), own, words * 8)), Status::ok);
        ASSERT_EQ(run(engine, peer, contiguous(OpKind::get, in.data(), own, words * 8)), Status::ok);
        ASSERT_EQ(in, out) << "round " << round << ", target " << target;
        std::int64_t before = -1;
        ASSERT_EQ(fetch_add(rank, target, there, 1, &before), Status::ok);
        ASSERT_GT(before, last);
        last = before;
        std::array<double, 64> ones;
        ones.fill(1);
        RmaOp accumulate =
            contiguous(ReduceOp::sum, ElementType::float64, ones.data(), there + 8, sizeof ones);
        accumulate.flags = OpFlags::atomic;
        ASSERT_EQ(run(engine, peer, accumulate), Status::ok);
      }
    });
    rank.barrier();
    EXPECT_EQ(memory.counter, rounds * (processes - 1));
    EXPECT_EQ(std::count(memory.sum, memory.sum + 64, rounds * (processes - 1)), 64);
    for (int origin = 0; origin < processes; ++origin) {
      for (std::size_t i = 0; i < words && origin != rank.rank(); ++i)
        ASSERT_EQ(memory.of[origin][i], rounds * 10000 + origin + static_cast<std::int64_t>(i));
    }
    Statistics const statistics = rank.engine().traffic.statistics();
    EXPECT_LE(statistics.endpoints, static_cast<std::size_t>(processes)) << "one for each process";
    EXPECT_EQ(statistics.messages_dropped, 0u);
    rank.barrier();
    EXPECT_EQ(rank.engine().memory.free(base), Status::ok);
  });
}

/// Segments are allocated and freed while every channel serves peers, which find the right segment or none.
TEST_P(ChannelJob, MemoryIsAllocatedAndFreedWhileChannelsAreInUse) {
  run_job(processes, configure, [](Rank& rank) {
    constexpr std::size_t words = 1024;
    constexpr std::int64_t rounds = 40;
    std::vector<std::int64_t> steady(words * processes, 0);
    ASSERT_EQ(rank.engine().memory.attach(steady.data(), steady.size() * 8), Status::ok);
    rank.publish(0, steady.data());
    rank.barrier();
    std::thread busy([&rank] {
      for (std::int64_t round = 0; round < rounds; ++round) {
        void* base = nullptr;
        ASSERT_EQ(rank.engine().memory.allocate(words * 8, &base), Status::ok);
        std::vector<std::int64_t> passing(words, round);
        ASSERT_EQ(rank.engine().memory.attach(passing.data(), words * 8), Status::ok);
        ASSERT_TRUE(rank.engine().memory.is_allocated(base));
        ASSERT_EQ(rank.engine().memory.detach(passing.data()), Status::ok);
        ASSERT_EQ(rank.engine().memory.free(base), Status::ok);
        ASSERT_EQ(rank.engine().memory.free(base), Status::bad_argument);
      }
    });
    on_a_thread_per_target(rank, [&rank](int target, int) {
      RemoteAddress const own = rank.published(target, 0) + words * 8 * unsigned(rank.rank());
      std::vector<std::int64_t> out(words);
      std::vector<std::int64_t> in(words);
      for (std::int64_t round = 1; round <= rounds; ++round) {
        std::fill(out.begin(), out.end(), round);
        Peer& peer = rank.peer(target);
        ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::put, out.data(), own, words * 8)), Status::ok);
        ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, in.data(), own, words * 8)), Status::ok);
        ASSERT_EQ(in, out) << "round " << round;
      }
    });
    busy.join();
    rank.barrier();
    EXPECT_EQ(rank.engine().memory.detach(steady.data()), Status::ok);
  });
}

/// Cached segments on every channel become invalid when the segment is freed.
TEST_P(ChannelJob, FreedMemoryIsInaccessibleOnEveryChannel) {
  run_job(processes, configure, [](Rank& rank) {
    constexpr std::size_t words = 1024;
    void* base = nullptr;
    if (rank.rank() == 0) {
      ASSERT_EQ(rank.engine().memory.allocate(words * 8, &base), Status::ok);
      rank.publish(0, base);
    }
    rank.barrier();
    std::vector<std::int64_t> values(words, rank.rank());
    Peer& owner = rank.peer(0);
    RmaOp const get = contiguous(OpKind::get, values.data(), rank.published(0, 0), words * 8);
    EXPECT_EQ(run(rank.engine(), owner, get), Status::ok);
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(rank.engine().memory.free(base), Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(run(rank.engine(), owner, get), Status::bad_address);
    rank.barrier();
  });
}

/// The end of a process affects no operation between others, on the same channel or another one. The process
/// ends while it is not sending, because UCX's shared memory does not survive the end of a sender.
TEST_P(ChannelJob, EndOfProcessDoesNotAffectOthers) {
  auto const body = [](Rank& rank) {
    constexpr std::size_t words = 512;
    constexpr int victim = processes - 1;
    std::vector<std::int64_t> memory(words * processes, 0);
    rank.publish(0, memory.data());
    auto const meet = [&rank](int slot, int last) {
      rank.signal(slot, 1);
      for (int other = 0; other <= last; ++other) ASSERT_TRUE(rank.wait_for_value(other, slot, 1));
    };
    auto const talk_to_all_but = [&rank](int excluded) {
      on_a_thread_per_target(rank, [&rank, excluded](int target, int) {
        if (target == excluded) return;
        RemoteAddress const own = rank.published(target, 0) + words * 8 * unsigned(rank.rank());
        std::vector<std::int64_t> out(words);
        std::vector<std::int64_t> in(words);
        for (int round = 0; round < 20; ++round) {
          std::fill(out.begin(), out.end(), round);
          Peer& peer = rank.peer(target);
          ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::put, out.data(), own, words * 8)),
                    Status::ok);
          ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, in.data(), own, words * 8)), Status::ok);
          ASSERT_EQ(in, out);
        }
      });
    };
    meet(1, victim);
    talk_to_all_but(rank.rank());
    meet(2, victim);
    if (rank.rank() == victim) rank.die();
    talk_to_all_but(victim);
    std::int64_t value = 1;
    Status status = Status::ok;
    for (int i = 0; i < 20000 && !failed(status); ++i) {
      ::usleep(1000);
      status = run(rank.engine(), rank.peer(victim),
                   contiguous(OpKind::put, &value, rank.published(victim, 0), 8));
    }
    EXPECT_TRUE(failed(status));
    talk_to_all_but(victim);
    meet(3, victim - 1);
  };
  run_job(processes, configure, body, test::JobKind::mortal);
}

}  // namespace
}  // namespace mpixrma::engine
