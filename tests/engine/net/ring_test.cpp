// Operations on memory that the origin has not mapped, through the ring that the target polls.
#include "engine/net/ring.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/base/liveness.hpp"
#include "engine/origin/peer_state.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/exposed.hpp"
#include "tests/support/ring_target.hpp"

namespace mpixrma::engine {
namespace {

using test::at;
using test::long_ring_timeout;
using test::with_target;
using test::words;

TEST(Ring, OperationsOfEveryKindMoveTheValues) {
  with_target(
      1, long_ring_timeout,
      [](Rank& rank, Peer& peer, std::int64_t* there) {
        Engine& engine = rank.engine();
        std::array<std::int64_t, 11> values{};  // as many as fit
        std::iota(values.begin(), values.end(), 1);
        auto const all = sizeof values;
        ASSERT_EQ(run(engine, peer, contiguous(OpKind::put, values.data(), at(there, 1), all)), Status::ok);
        std::array<std::int64_t, 11> got{};
        ASSERT_EQ(run(engine, peer, contiguous(OpKind::get, got.data(), at(there, 1), all)), Status::ok);
        EXPECT_EQ(got, values);
        // A strided origin.
        std::array<std::int64_t, 4> const pairs{100, -1, 200, -1};
        RmaOp strided = contiguous(OpKind::put, const_cast<std::int64_t*>(pairs.data()), at(there, 20), 16);
        Dimension const every_second{2, 16};
        strided.origin_layout = {8, {&every_second, 1}, {}};
        ASSERT_EQ(run(engine, peer, strided), Status::ok);
        std::int64_t const two = 2;
        std::int64_t before = 0;
        ASSERT_EQ(run(engine, peer,
                      contiguous(ReduceOp::sum, ElementType::int64, values.data(), at(there, 1), all)),
                  Status::ok);
        ASSERT_EQ(
            run(engine, peer, contiguous(ReduceOp::sum, ElementType::int64, &two, at(there, 2), 8, &before)),
            Status::ok);
        EXPECT_EQ(before, 4);
        std::int64_t const six = 6;
        std::int64_t const seven = 7;
        RmaOp swap =
            contiguous(ReduceOp::compare_swap_eq, ElementType::int64, &six, at(there, 3), 8, &before);
        swap.operand2 = reinterpret_cast<std::byte const*>(&seven);
        ASSERT_EQ(run(engine, peer, swap), Status::ok);
        EXPECT_EQ(before, 6);
        RmaOp whole = contiguous(ReduceOp::sum, ElementType::int64, values.data(), at(there, 30), 64);
        whole.flags = OpFlags::atomic;
        ASSERT_EQ(run(engine, peer, whole), Status::ok);
      },
      [](std::int64_t const* memory) {
        EXPECT_EQ(memory[0], 0);
        EXPECT_EQ(memory[1], 2);
        EXPECT_EQ(memory[2], 6);
        EXPECT_EQ(memory[3], 7);
        for (int i = 4; i <= 11; ++i) EXPECT_EQ(memory[i], 2 * i);
        EXPECT_EQ(memory[12], 0);
        EXPECT_EQ(memory[20], 100);
        EXPECT_EQ(memory[21], 200);
        for (int i = 0; i < 8; ++i) EXPECT_EQ(memory[30 + i], i + 1);
        EXPECT_EQ(memory[38], 0);
      });
}

TEST(Ring, UpdatesOfSeveralOriginsAreExact) {
  constexpr int origins = 3;
  constexpr int updates = 3000;
  with_target(
      origins, long_ring_timeout,
      [](Rank& rank, Peer& peer, std::int64_t* there) {
        std::int64_t const one = 1;
        std::int64_t newest = -1;
        std::array<std::int64_t, 8> const ones{1, 1, 1, 1, 1, 1, 1, 1};
        for (int i = 0; i < updates; ++i) {
          std::int64_t before = 0;
          ASSERT_EQ(run(rank.engine(), peer,
                        contiguous(ReduceOp::sum, ElementType::int64, &one, at(there, 0), 8, &before)),
                    Status::ok);
          EXPECT_GT(before, newest) << "goes up";
          newest = before;
          RmaOp array = contiguous(ReduceOp::sum, ElementType::int64, ones.data(), at(there, 8), sizeof ones);
          if (i % 2 == 0) array.flags = OpFlags::atomic;
          ASSERT_EQ(run(rank.engine(), peer, array), Status::ok);
        }
      },
      [](std::int64_t const* memory) {
        EXPECT_EQ(memory[0], origins * updates);
        for (int i = 8; i < 16; ++i) EXPECT_EQ(memory[i], origins * updates) << i;
      });
}

TEST(Ring, WrongAddressesAreRefusedOnBothSides) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const hole = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  with_target(
      1, long_ring_timeout,
      [=](Rank& rank, Peer& peer, std::int64_t* there) {
        Engine& engine = rank.engine();
        std::int64_t value = 1;
        auto const nowhere = reinterpret_cast<RemoteAddress>(hole);
        for (OpKind const direction : {OpKind::put, OpKind::get}) {
          EXPECT_EQ(run(engine, peer, contiguous(direction, &value, nowhere, 8)), Status::bad_address);
          EXPECT_EQ(run(engine, peer, contiguous(direction, &value, nowhere - 4, 8)), Status::bad_address);
          EXPECT_EQ(run(engine, peer, contiguous(direction, hole, at(there, 0), 8)), Status::bad_origin);
        }
        EXPECT_EQ(run(engine, peer, contiguous(ReduceOp::sum, ElementType::int64, &value, nowhere, 8)),
                  Status::bad_address);
        RmaOp unknown = contiguous(OpKind::put, &value, 0, 8);
        unknown.exposed.target = static_cast<ExposureId>(12345);
        EXPECT_EQ(run(engine, peer, unknown), Status::stale_exposure);
        EXPECT_EQ(run(engine, peer, contiguous(OpKind::put, &value, at(there, 5), 8)), Status::ok);
      },
      [](std::int64_t const* memory) {
        for (int i = 0; i < words; ++i) EXPECT_EQ(memory[i], i == 5 ? 1 : 0) << i;
      });
  ::munmap(hole, page);
}

/// The update of a single element switches the mode of its own memory, and not that of the memory at the
/// address equal to its offset in an exposure.
TEST(Ring, SingleElementsSwitchTheirOwnMemoryOnly) {
  run_job(2, long_ring_timeout, [](Rank& rank) {
    Exposed const memory(rank, false, Rights::all);
    rank.publish(1, memory.at(8));
    rank.barrier();
    if (rank.rank() == 0) {
      std::int64_t const one = 1;
      std::int64_t before = 0;
      RmaOp update = contiguous(ReduceOp::sum, ElementType::int64, &one, 8, 8, &before);
      update.exposed.target = static_cast<ExposureId>(rank.published(1, 0));
      ASSERT_EQ(run(rank.engine(), rank.peer(1), update), Status::ok);
      UpdateModes const& modes = rank.peer(1).stripes()->modes;
      EXPECT_TRUE(modes.is_by_element(rank.published(1, 1)));
      int switched = 0;
      for (RemoteAddress granule = 0; granule < granule_count; ++granule)
        switched += modes.is_by_element(granule << granule_shift) ? 1 : 0;
      EXPECT_EQ(switched, 1);
      rank.signal(2, 1);
    }
    while (__atomic_load_n(rank.place(0, 2), __ATOMIC_ACQUIRE) == 0) rank.engine().waits.progress();
  });
}

/// Without polling, the operations take another path.
TEST(Ring, FallsBackIfTargetDoesNotPoll) {
  auto const soon = [](mpix_engine_config& config) { config.ring_us = 1; };
  run_job(2, soon, [](Rank& rank) {
    auto const memory = std::make_unique<std::int64_t[]>(words);
    rank.publish(0, memory.get());
    rank.barrier();
    if (rank.rank() == 0) {
      auto* const there = reinterpret_cast<std::int64_t*>(rank.published(1, 0));
      for (std::int64_t i = 0; i < 3000; ++i) {
        std::int64_t before = -1;
        std::int64_t const one = 1;
        ASSERT_EQ(run(rank.engine(), rank.peer(1),
                      contiguous(ReduceOp::sum, ElementType::int64, &one, at(there, 0), 8, &before)),
                  Status::ok);
        ASSERT_EQ(before, i);
        ASSERT_EQ(run(rank.engine(), rank.peer(1), contiguous(OpKind::put, &before, at(there, 1), 8)),
                  Status::ok);
      }
      EXPECT_NE(rank.engine().traffic.with(Rank::process_of(1)).operations_by(Protocol::cross_memory), 0u);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(memory[0], 3000);
      EXPECT_EQ(memory[1], 2999);
    }
  });
}

/// Two processes that send requests to each other and poll only while they wait.
TEST(Ring, ProcessesThatWaitForEachOtherServeEachOther) {
  constexpr int updates = 3000;
  run_job(2, long_ring_timeout, [](Rank& rank) {
    auto const memory = std::make_unique<std::int64_t[]>(words);
    rank.publish(0, memory.get());
    rank.barrier();
    int const other = 1 - rank.rank();
    auto* const there = reinterpret_cast<std::int64_t*>(rank.published(other, 0));
    std::int64_t const one = 1;
    for (int i = 0; i < updates; ++i) {
      ASSERT_EQ(run(rank.engine(), rank.peer(other),
                    contiguous(ReduceOp::sum, ElementType::int64, &one, at(there, 0), 8)),
                Status::ok);
    }
    rank.signal(1, 1);
    while (__atomic_load_n(rank.place(other, 1), __ATOMIC_ACQUIRE) == 0) rank.engine().waits.progress();
    EXPECT_EQ(memory[0], std::int64_t{updates});
    EXPECT_NE(rank.engine().traffic.with(Rank::process_of(other)).operations_by(Protocol::ring), 0u);
  });
}

/// Polls, and pauses now and then for so long that messages replace the ring.
void look_with_pauses(Engine& engine) {
  static unsigned looks = 0;
  engine.waits.progress();
  if (++looks % 4096 == 0) ::usleep(2000);
}

/// Writes rising numbers by small and large ordered puts, and reads some of them back.
void put_and_get(Rank& rank, Peer& peer, std::int64_t* there, std::mt19937& random) {
  std::array<std::int64_t, 32> large{};
  std::uint64_t last = 0;
  for (std::int64_t i = 1; i <= 2000; ++i) {
    bool const small = random() % 2 == 0;
    large.fill(i);
    RmaOp put = contiguous(OpKind::put, large.data(), at(there, 0), small ? 8 : sizeof large);
    put.flags = OpFlags::ordered;
    if (!small) put.flags = put.flags | OpFlags::atomic;
    Issued const issued = rank.engine().issue(peer, put);
    ASSERT_EQ(issued.status, Status::ok);
    last = std::max(last, issued.sequence);
    if (random() % 4 != 0) continue;
    std::int64_t found = 0;
    RmaOp get = contiguous(OpKind::get, &found, at(there, 0), 8);
    get.flags = OpFlags::ordered;
    ASSERT_EQ(run(rank.engine(), peer, get), Status::ok);
    ASSERT_EQ(found, i);
  }
  rank.engine().order.complete(peer, last);
}

/// Operations take effect in issue order even if only some of them go through the ring.
TEST(Ring, KeepsOrderBehindEarlierMessages) {
  with_target(
      1,
      [](mpix_engine_config& config) {
        config.protocols = MPIX_ENGINE_PROTOCOL_RING | MPIX_ENGINE_PROTOCOL_DIRECT;
      },
      [](Rank& rank, Peer& peer, std::int64_t* there) {
        unsigned const seed = std::random_device{}();
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        auto const goes_both_ways = [&] {
          auto const traffic = rank.engine().traffic.with(peer.process());
          return traffic.operations_by(Protocol::ring) != 0 && traffic.operations_by(Protocol::message) != 0;
        };
        // While the target has no core, everything becomes a message.
        for (int round = 0; round < 100 && !goes_both_ways(); ++round) {
          put_and_get(rank, peer, there, random);
          if (::testing::Test::HasFatalFailure()) return;
        }
      },
      [](std::int64_t const* memory) { EXPECT_EQ(memory[0], 2000); },
      {.ways = test::Ways::ring_and_messages, .look = look_with_pauses});
}

/// Parameter: words of an operation, which fits into a slot or is staged.
class RingOfDead : public ::testing::TestWithParam<int> {
 protected:
  /// Adds 1 to all words of the target's memory.
  static Status update(Rank& rank, int target) {
    std::vector<std::int64_t> const ones(static_cast<std::size_t>(GetParam()), 1);
    auto* const there = reinterpret_cast<std::int64_t*>(rank.published(target, 0));
    RmaOp update = contiguous(ReduceOp::sum, ElementType::int64, ones.data(), at(there, 0), 8 * ones.size());
    // An operation that holds stripes is staged only if the kernel could move its data, too.
    update.flags = OpFlags::none;
    return run(rank.engine(), rank.peer(target), update);
  }
  /// Returns the ring after its first use.
  static Ring& ring_of(Rank& rank, int process) { return rank.peer(process).state().segments->ring(); }
  static RingSlot* claim(Ring& ring, Rank& rank) { return ring.claim(rank.engine().process(), ::getpid()); }
  /// Occupies all slots that the process tries; some of them are posted.
  static void leave_requests(Rank& rank, Ring& ring) {
    bool posts = false;
    while (RingSlot* const slot = claim(ring, rank)) {
      if (posts) ring.post(*slot);
      posts = !posts;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Words, RingOfDead, ::testing::Values(1, 20000));

/// An origin whose request will never be executed detects that.
TEST_P(RingOfDead, DoesNotBlockRequesters) {
  run_job(
      2, long_ring_timeout,
      [](Rank& rank) {
        auto const memory = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(GetParam()));
        rank.publish(0, memory.get());
        rank.barrier();
        if (rank.rank() == 1) {
          while (__atomic_load_n(&memory[0], __ATOMIC_RELAXED) < 100) rank.engine().waits.progress();
          rank.die();
        }
        Status status = Status::ok;
        int updates = 0;
        for (; status == Status::ok; ++updates) status = update(rank, 1);
        EXPECT_GE(updates, 100);
        EXPECT_TRUE(status == Status::transport || status == Status::unreachable) << to_string(status);
      },
      test::JobKind::mortal);
}

/// Origins that have ended with requests in the ring leave their slots to others.
TEST_P(RingOfDead, ReusesSlotsOfEndedOrigins) {
  constexpr int dying = 0;
  constexpr int surviving = 1;
  constexpr int target = 2;
  run_job(
      3, long_ring_timeout,
      [](Rank& rank) {
        auto const memory = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(GetParam()));
        rank.publish(0, memory.get());
        rank.publish(1, static_cast<std::uint64_t>(::getpid()));
        rank.barrier();
        if (rank.rank() == dying) {
          EXPECT_EQ(update(rank, target), Status::ok);
          leave_requests(rank, ring_of(rank, target));
          rank.die();
        }
        auto const ending = static_cast<pid_t>(rank.published(dying, 1));
        if (rank.rank() == target) {
          while (__atomic_load_n(rank.place(surviving, 2), __ATOMIC_ACQUIRE) == 0)
            rank.engine().waits.progress();
          return;
        }
        while (process_is_alive(ending)) ::usleep(1000);
        EXPECT_EQ(update(rank, target), Status::ok);
        Ring& ring = ring_of(rank, target);
        RingSlot* const own = claim(ring, rank);  // the dead origin holds the others
        ASSERT_NE(own, nullptr);
        for (int i = 0; i < 200; ++i) EXPECT_EQ(update(rank, target), Status::ok);
        for (int i = 0; i < 3; ++i) EXPECT_NE(claim(ring, rank), nullptr) << i;
        rank.signal(2, 1);
      },
      test::JobKind::mortal);
}

/// Arbitrary data that other processes write into a ring does no harm.
TEST(Ring, RejectsMalformedData) {
  std::mt19937 random(20081);
  auto const ring = std::make_unique<Ring>();
  RingReader reader;
  int executed = 0;
  constexpr std::size_t before_staged = sizeof(Ring) - Ring::slots * sizeof(StagedRequest);
  for (int round = 0; round < 1000; ++round) {
    for (std::size_t i = 0; i < before_staged / 4; ++i) {
      auto const noise = static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % 6);
      std::memcpy(reinterpret_cast<std::byte*>(ring.get()) + 4 * i, &noise, 4);
    }
    if (reader.has_news(*ring))
      executed += reader.take(*ring, [](RingEntry& entry, StagedRequest&) { entry.status = 0; });
  }
  EXPECT_GT(executed, 0);
}

}  // namespace
}  // namespace mpixrma::engine
