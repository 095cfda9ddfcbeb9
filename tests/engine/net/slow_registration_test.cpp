/// Registrations with the network that take long: only calls that need the key or end the registration wait.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/engine_paths.hpp"
#include "tests/support/latch.hpp"

namespace {

mpixrma::test::Latch mapping;
mpixrma::test::Latch unmapping;

template <typename Function>
Function* real(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ucs_status_t ucp_mem_map(ucp_context_h context,
                                                                           ucp_mem_map_params_t const* params,
                                                                           ucp_mem_h* memory) {
  mapping.pass();
  return real<decltype(ucp_mem_map)>("ucp_mem_map")(context, params, memory);
}

extern "C" __attribute__((visibility("default"))) ucs_status_t ucp_mem_unmap(ucp_context_h context,
                                                                             ucp_mem_h memory) {
  unmapping.pass();
  return real<decltype(ucp_mem_unmap)>("ucp_mem_unmap")(context, memory);
}

namespace mpixrma::engine {
namespace {

void only_network(mpix_engine_config& config) {
  config.protocols = MPIX_ENGINE_PROTOCOL_NETWORK;
  config.network_without_hardware = 1;
}

constexpr std::size_t words = 1000;

/// A put, an update and a get of the memory at `address`; checks the result.
void use(Rank& rank, int target, RemoteAddress address, std::int64_t value) {
  std::int64_t const one = 1;
  std::int64_t found = 0;
  ASSERT_EQ(run(rank.engine(), rank.peer(target), contiguous(OpKind::put, &value, address, 8)), Status::ok);
  RmaOp const add = contiguous(ReduceOp::sum, ElementType::int64, &one, address, 8);
  ASSERT_EQ(run(rank.engine(), rank.peer(target), add), Status::ok);
  ASSERT_EQ(run(rank.engine(), rank.peer(target), contiguous(OpKind::get, &found, address, 8)), Status::ok);
  EXPECT_EQ(found, value + 1);
}

using test::eventually;

// Slots of the blackboard by which ranks signal() the steps of the test to each other.
constexpr int held = 10;
constexpr int used = 11;
constexpr int ended = 12;

/// Rank 1 owns memory; origins 0 and 2 use it while the registration that they have asked for is held up.
TEST(SlowRegistration, OriginsUseMessagesDuringRegistration) {
  run_job(3, only_network, [](Rank& rank) {
    std::vector<std::int64_t> memory(words);
    std::vector<std::int64_t> other(words);
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), words * 8), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, other.data());
    if (rank.rank() == 1) mapping.close();
    rank.barrier();
    if (rank.rank() != 1) {
      auto const place = static_cast<std::size_t>(8 * rank.rank());
      use(rank, 1, rank.published(1, 0) + place, 5);
      EXPECT_TRUE(rank.wait_for_value(1, held, 1)) << "nobody has asked for a key";
      use(rank, 1, rank.published(1, 0) + place, 7);  // while it is certainly held up
      use(rank, 1, rank.published(1, 1) + place, 9);
      EXPECT_EQ(rank.engine().traffic.statistics().traffic.operations_by(Protocol::network), 0u);
      rank.signal(used, 1);
      EXPECT_TRUE(rank.wait_for_value(1, ended, 1));
      await_key(rank, 1, rank.published(1, 0));
      use(rank, 1, rank.published(1, 0) + place, 11);
    } else {
      EXPECT_TRUE(eventually([] { return mapping.is_waited_at(); }));
      rank.signal(held, 1);
      // This process's own operations, and registrations of other memory.
      use(rank, 2, rank.published(2, 1), 3);
      ASSERT_EQ(rank.engine().memory.attach(other.data(), words * 8), Status::ok);
      ASSERT_EQ(rank.engine().memory.detach(other.data()), Status::ok);
      EXPECT_TRUE(rank.wait_for_value(0, used, 1));
      EXPECT_TRUE(rank.wait_for_value(2, used, 1));
      EXPECT_TRUE(mapping.is_waited_at()) << "the registration was not held up all the time";
      EXPECT_FALSE(mapping.was_forced());
      mapping.open();
      rank.signal(ended, 1);
    }
    rank.barrier();
  });
}

/// The same for memory that is addressed by an exposure, whose key is made later.
TEST(SlowRegistration, OriginsOfExposureUseMessagesDuringRegistration) {
  run_job(2, only_network, [](Rank& rank) {
    std::vector<std::int64_t> memory(words);
    if (rank.rank() == 1) {
      ExposureId id{};
      ASSERT_EQ(rank.engine().exposures.expose(memory.data(), words * 8, Rights::all, &id), Status::ok);
      rank.publish(0, static_cast<std::uint64_t>(id));
      mapping.close();
    }
    rank.barrier();
    std::int64_t value = 4;
    auto const put = [&] {
      RmaOp transfer = contiguous(OpKind::put, &value, 8, 8);
      transfer.exposed.target = static_cast<ExposureId>(rank.published(1, 0));
      ASSERT_EQ(run(rank.engine(), rank.peer(1), transfer), Status::ok);
    };
    auto const by_key = [&] {
      return rank.engine().traffic.statistics().traffic.operations_by(Protocol::network);
    };
    if (rank.rank() == 0) {
      put();
      EXPECT_TRUE(rank.wait_for_value(1, held, 1)) << "nobody has asked for a key";
      put();
      EXPECT_EQ(by_key(), 0u);
      rank.signal(used, 1);
      EXPECT_TRUE(rank.wait_for_value(1, ended, 1));
      for (value = 5; by_key() == 0;) put();
    } else {
      EXPECT_TRUE(eventually([] { return mapping.is_waited_at(); }));
      rank.signal(held, 1);
      EXPECT_TRUE(rank.wait_for_value(0, used, 1));
      EXPECT_FALSE(mapping.was_forced());
      EXPECT_EQ(memory[1], 4);
      mapping.open();
      rank.signal(ended, 1);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(memory[1], 5);
    }
    rank.barrier();
  });
}

/// Rank 1 ends a registration while `latch` holds up UCX: the other ranks go on, and only the end waits.
void end_slowly(test::Latch& latch) {
  run_job(3, only_network, [&latch](Rank& rank) {
    std::vector<std::int64_t> memory(words);
    std::vector<std::int64_t> other(words);
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), words * 8), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, other.data());
    if (rank.rank() == 1) latch.close();
    rank.barrier();
    if (rank.rank() != 1) {
      auto const place = static_cast<std::size_t>(8 * rank.rank());
      if (&latch == &unmapping) await_key(rank, 1, rank.published(1, 0));
      use(rank, 1, rank.published(1, 0) + place, 5);
      rank.signal(used, 1);
      EXPECT_TRUE(rank.wait_for_value(1, held, 1)) << "nothing was held up";
      use(rank, 1, rank.published(1, 0) + place, 7);
      use(rank, 1, rank.published(1, 1) + place, 9);
      rank.signal(used, 2);
    } else {
      EXPECT_TRUE(rank.wait_for_value(0, used, 1));
      EXPECT_TRUE(rank.wait_for_value(2, used, 1));
      std::atomic<bool> over{false};
      std::thread detaching([&] {
        EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
        over.store(true);
      });
      EXPECT_TRUE(eventually([&latch] { return latch.is_waited_at(); }));
      rank.signal(held, 1);
      use(rank, 2, rank.published(2, 1), 3);
      EXPECT_TRUE(rank.wait_for_value(0, used, 2));
      EXPECT_TRUE(rank.wait_for_value(2, used, 2));
      EXPECT_FALSE(over.load()) << "the memory may be unmapped while it is registered";
      EXPECT_TRUE(latch.is_waited_at());
      EXPECT_FALSE(latch.was_forced());
      latch.open();
      detaching.join();
    }
    rank.barrier();
  });
}

TEST(SlowRegistration, EndWaitsForRegistrationInProgress) { end_slowly(mapping); }

TEST(SlowRegistration, EndOfRegistrationDoesNotDelayOthers) { end_slowly(unmapping); }

/// A registration that waits for its turn is cancelled if its memory is withdrawn.
TEST(SlowRegistration, QueuedRegistrationIsWithdrawn) {
  run_job(2, only_network, [](Rank& rank) {
    std::vector<std::int64_t> first(words);
    std::vector<std::int64_t> second(words);
    ASSERT_EQ(rank.engine().memory.attach(first.data(), words * 8), Status::ok);
    ASSERT_EQ(rank.engine().memory.attach(second.data(), words * 8), Status::ok);
    rank.publish(0, first.data());
    rank.publish(1, second.data());
    if (rank.rank() == 1) mapping.close();
    rank.barrier();
    if (rank.rank() == 0) {
      use(rank, 1, rank.published(1, 0), 5);
      EXPECT_TRUE(rank.wait_for_value(1, held, 1));
      use(rank, 1, rank.published(1, 1), 6);
      rank.signal(used, 1);
      EXPECT_TRUE(rank.wait_for_value(1, ended, 1));
      use(rank, 1, rank.published(1, 1), 7);
    } else {
      EXPECT_TRUE(eventually([] { return mapping.is_waited_at(); }));
      rank.signal(held, 1);
      EXPECT_TRUE(rank.wait_for_value(0, used, 1));
      EXPECT_EQ(rank.engine().memory.detach(second.data()), Status::ok);
      EXPECT_TRUE(mapping.is_waited_at());
      EXPECT_FALSE(mapping.was_forced());
      rank.signal(ended, 1);
    }
    rank.barrier();
    mapping.open();
  });
}

}  // namespace
}  // namespace mpixrma::engine
