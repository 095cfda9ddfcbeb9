/// The engine's counters: operations and bytes by path and process, messages.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

struct ExpectedPaths {
  PathCase paths;
  Protocol transfers;
  Protocol rmws;  ///< not by the kernel and not by UCX put and get
};

class EngineStatistics : public ::testing::TestWithParam<ExpectedPaths> {};

INSTANTIATE_TEST_SUITE_P(
    Paths, EngineStatistics,
    ::testing::Values(
        ExpectedPaths{{"direct", MPIX_ENGINE_PROTOCOL_DIRECT, 0}, Protocol::direct, Protocol::direct},
        ExpectedPaths{{"cross_memory", MPIX_ENGINE_PROTOCOL_CROSS_MEMORY, 0},
                      Protocol::cross_memory,
                      Protocol::message},
        ExpectedPaths{{"network", MPIX_ENGINE_PROTOCOL_NETWORK, 1}, Protocol::network, Protocol::message},
        ExpectedPaths{{"message", MPIX_ENGINE_PROTOCOL_MESSAGE, 0}, Protocol::message, Protocol::message}),
    [](auto const& instance) { return std::string(instance.param.paths.name); });

constexpr std::uint64_t puts = 30;
constexpr std::uint64_t gets = 20;
constexpr std::uint64_t rmws = 10;
constexpr std::size_t put_bytes = 24;
constexpr std::size_t get_bytes = 3000;

/// Puts to, gets from and adds to the allocated memory of `target`.
void operate(Rank& rank, int target) {
  RemoteAddress const base = rank.published(target, 0);
  std::vector<char> buffer(get_bytes);
  for (std::uint64_t i = 0; i < puts; ++i)
    ASSERT_EQ(
        run(rank.engine(), rank.peer(target), contiguous(OpKind::put, buffer.data(), base + 64, put_bytes)),
        Status::ok);
  for (std::uint64_t i = 0; i < gets; ++i)
    ASSERT_EQ(
        run(rank.engine(), rank.peer(target), contiguous(OpKind::get, buffer.data(), base + 64, get_bytes)),
        Status::ok);
  std::int64_t const one = 1;
  RmaOp const add = contiguous(ReduceOp::sum, ElementType::int64, &one, base, sizeof one);
  for (std::uint64_t i = 0; i < rmws; ++i) ASSERT_EQ(run(rank.engine(), rank.peer(target), add), Status::ok);
}

/// Adds to `traffic` the expected counts of operate().
void expect(Traffic& traffic, ExpectedPaths const& expected, bool direct_counts) {
  auto const add = [&](Protocol protocol, std::uint64_t operations, std::uint64_t bytes) {
    if (protocol == Protocol::direct && !direct_counts) return;
    traffic.operations[static_cast<std::size_t>(protocol)] += operations;
    traffic.bytes[static_cast<std::size_t>(protocol)] += bytes;
  };
  add(expected.transfers, puts + gets, puts * put_bytes + gets * get_bytes);
  add(expected.rmws, rmws, rmws * 8);
}

void check(ExpectedPaths const& expected, bool direct_counts) {
  auto const configure = [&](mpix_engine_config& config) {
    config.protocols = expected.paths.paths;
    config.network_without_hardware = expected.paths.network_without_hardware;
    config.count_direct = direct_counts ? 1 : 0;
  };
  run_job(3, configure, [&](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      Traffic wanted[3];
      for (int target = 1; target < 3; ++target) {
        if (expected.transfers == Protocol::network) await_key(rank, target, rank.published(target, 0));
        wanted[target] = rank.engine().traffic.with(Rank::process_of(target));
      }
      operate(rank, 1);
      operate(rank, 2);
      operate(rank, 2);
      expect(wanted[1], expected, direct_counts);
      expect(wanted[2], expected, direct_counts);
      expect(wanted[2], expected, direct_counts);
      Traffic sum;
      for (int target = 0; target < 3; ++target) {
        Traffic const found = rank.engine().traffic.with(Rank::process_of(target));
        EXPECT_EQ(found.operations, wanted[target].operations) << "target " << target;
        EXPECT_EQ(found.bytes, wanted[target].bytes) << "target " << target;
        rank.publish(3 + target, found.messages_sent);
        sum += found;
      }
      Traffic const all = rank.engine().traffic.statistics().traffic;
      EXPECT_EQ(all.operations, sum.operations);
      EXPECT_EQ(all.bytes, sum.bytes);
      EXPECT_EQ(all.messages_sent, sum.messages_sent);
      mpix_engine_traffic shown;
      mpix_engine_read_traffic(&rank.engine(), &shown);
      for (std::size_t path = 0; path < protocol_count; ++path) {
        EXPECT_EQ(shown.operations[path], all.operations[path]);
        EXPECT_EQ(shown.bytes[path], all.bytes[path]);
      }
      EXPECT_EQ(shown.messages_sent, all.messages_sent);
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().counts_direct(), direct_counts);
    EXPECT_EQ(rank.engine().traffic.with(Rank::process_of(0)).messages_executed,
              rank.published(0, 3 + rank.rank()));
    EXPECT_EQ(rank.engine().traffic.statistics().traffic.messages_executed,
              rank.published(0, 3 + rank.rank()));
    EXPECT_EQ(rank.engine().traffic.with(0x999).messages_executed, 0u);
    std::int64_t sum = 0;
    std::memcpy(&sum, buffers.allocated, sizeof sum);
    EXPECT_EQ(sum, static_cast<std::int64_t>(rmws) * rank.rank());
  });
}

TEST_P(EngineStatistics, CountOperationsPerPathAndTarget) { check(GetParam(), true); }

TEST_P(EngineStatistics, ExcludeDirectPathByDefault) { check(GetParam(), false); }

TEST(EngineStatistic, CountAnOperationAndItsNotificationOnce) {
  auto const configure = [](mpix_engine_config& config) { config.count_direct = 1; };
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      std::uint64_t out = 7;
      for (int kind : {0, 2}) {
        RmaOp put = contiguous(OpKind::put, &out, rank.published(1, kind) + 64, sizeof out);
        put.notify = rank.published(1, 0);
        ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      }
      Traffic const found = rank.engine().traffic.with(Rank::process_of(1));
      EXPECT_EQ(found.operations_by(Protocol::direct), 1u);
      EXPECT_EQ(found.operations_by(Protocol::cross_memory) + found.operations_by(Protocol::message), 1u);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(*static_cast<std::uint64_t*>(buffers.allocated), 2u);
    }
  });
}

TEST(EngineStatistic, ExcludeRefusedOperations) {
  auto const configure = [](mpix_engine_config& config) { config.count_direct = 1; };
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      std::uint64_t out = 7;
      EXPECT_EQ(run(rank.engine(), rank.peer(1),
                    contiguous(OpKind::put, &out, rank.published(1, 0) + Buffers::bytes + (1 << 20), 8)),
                Status::bad_address);
      EXPECT_EQ(rank.engine().traffic.with(Rank::process_of(1)).operations_by(Protocol::direct), 0u);
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
