/// Whole-operation atomicity on both sides, notification, and order across paths.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

class AtomicityPaths : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, AtomicityPaths, every_path(), path_name);

bool uniform(char const* begin, std::size_t bytes) {
  return std::all_of(begin, begin + bytes, [&](char c) { return c == *begin; });
}

/// Each of two processes atomically puts its own array into the other's. In either serial order both arrays
/// end with the same content; an update of an origin after a put has read it and before that put ends would
/// swap them.
TEST_P(AtomicityPaths, CrossingAtomicPutsAreSerializable) {
  constexpr int rounds = 60;
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    int const other = 1 - rank.rank();
    for (int round = 0; round < rounds; ++round) {
      for (int kind = 0; kind < 3; ++kind) {
        std::size_t const bytes = round % 3 == 0 ? 20000 : 48;  // several messages, or one
        char* const mine = buffers.kind(kind);
        std::memset(mine, 2 * (round % 50) + rank.rank(), bytes);
        rank.barrier();
        for (int repeat = 0; repeat < 5; ++repeat) {
          RmaOp put = contiguous(OpKind::put, mine, rank.published(other, kind), bytes);
          put.flags = OpFlags::atomic;
          ASSERT_EQ(rank.engine().issue(rank.peer(other), put).status, Status::ok);
        }
        rank.engine().order.complete(rank.peer(other), EngineOrder::newest(rank.peer(other)));
        rank.barrier();
        ASSERT_TRUE(uniform(mine, bytes)) << "kind " << kind << " round " << round;
        rank.publish(8 + kind, static_cast<std::uint64_t>(mine[0]));
        rank.barrier();
        ASSERT_EQ(rank.published(0, 8 + kind), rank.published(1, 8 + kind))
            << "kind " << kind << " round " << round;
      }
    }
  });
}

/// All processes put uniform arrays into the arrays of all, which are also origins of puts, and get arrays.
TEST_P(AtomicityPaths, AtomicOperationsAreIndivisible) {
  constexpr int ranks = 3;
  constexpr int rounds = 100;
  run_job(ranks, configure, [](Rank& rank) {
    Buffers buffers(rank);
    for (int kind = 0; kind < 3; ++kind) {
      std::size_t const bytes = kind == 1 ? 15000 : 3000;
      std::memset(buffers.kind(kind), 1, bytes);
      rank.barrier();
      for (int round = 0; round < rounds; ++round) {
        int const target = (rank.rank() + round) % ranks;
        Peer& peer = rank.peer(target);
        // The origin is the process's own array, which the others write.
        RmaOp put = contiguous(OpKind::put, buffers.kind(kind), rank.published(target, kind), bytes);
        put.flags = OpFlags::atomic;
        if (target != rank.rank()) {
          ASSERT_EQ(run(rank.engine(), peer, put), Status::ok);
        }
        std::vector<char> got(bytes, static_cast<char>(round));
        RmaOp fresh = contiguous(OpKind::put, got.data(), rank.published(target, kind), bytes);
        fresh.flags = OpFlags::atomic;
        ASSERT_EQ(run(rank.engine(), peer, fresh), Status::ok);
        RmaOp get = contiguous(OpKind::get, got.data(), rank.published(target, kind), bytes);
        get.flags = OpFlags::atomic;
        ASSERT_EQ(run(rank.engine(), peer, get), Status::ok);
        ASSERT_TRUE(uniform(got.data(), bytes)) << "kind " << kind << " round " << round;
      }
      rank.barrier();
    }
  });
}

/// All processes, process 0 among them, increment counters of process 0. An increment has no memory at its
/// origin.
TEST_P(AtomicityPaths, AtomicIncrementsOfOneArrayAreNotLost) {
  constexpr int ranks = 3;
  constexpr std::uint64_t rounds = 100;
  constexpr std::size_t bytes = 500 * sizeof(std::uint64_t);
  run_job(ranks, configure, [](Rank& rank) {
    Buffers buffers(rank);
    for (int kind = 0; kind < 3; ++kind) std::memset(buffers.kind(kind), 0, bytes);
    rank.barrier();
    Peer& peer = rank.peer(0);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (int kind = 0; kind < 3; ++kind) {
        RmaOp one =
            contiguous(ReduceOp::increment, ElementType::uint64, nullptr, rank.published(0, kind), bytes);
        one.flags = OpFlags::atomic;
        ASSERT_EQ(rank.engine().issue(peer, one).status, Status::ok);
      }
    }
    rank.engine().order.complete(peer, EngineOrder::newest(peer));
    EXPECT_EQ(rank.engine().failures.take(peer, 0), Status::ok);
    rank.barrier();
    for (int kind = 0; rank.rank() == 0 && kind < 3; ++kind) {
      auto const* const counters = reinterpret_cast<std::uint64_t const*>(buffers.kind(kind));
      EXPECT_EQ(std::count(counters, counters + 500, ranks * rounds), 500) << "kind " << kind;
    }
  });
}

TEST_P(AtomicityPaths, ManyOutstandingAtomicOperationsOfAnySizeEnd) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    int const other = 1 - rank.rank();
    std::vector<char> shared(Buffers::bytes);
    std::vector<std::vector<char>> own;  // gets without atomicity must not overlap at the origin
    for (int round = 0; round < 20; ++round) {
      for (int kind = 0; kind < 3; ++kind) {
        for (std::size_t const bytes : {std::size_t{8}, std::size_t{70000}}) {  // exceeds the credit
          bool const atomic = round % 2 == 0;
          char* const into = atomic ? shared.data() : own.emplace_back(bytes).data();
          RmaOp put = contiguous(OpKind::put, buffers.kind(kind), rank.published(other, kind), bytes);
          put.flags = OpFlags::atomic | OpFlags::ordered;
          ASSERT_EQ(rank.engine().issue(rank.peer(other), put).status, Status::ok);
          RmaOp get = contiguous(OpKind::get, into, rank.published(other, kind), bytes);
          get.flags = atomic ? OpFlags::atomic : OpFlags::ordered;
          ASSERT_EQ(rank.engine().issue(rank.peer(other), get).status, Status::ok);
        }
      }
    }
    rank.engine().order.complete(rank.peer(other), EngineOrder::newest(rank.peer(other)));
    EXPECT_EQ(rank.engine().failures.take(rank.peer(other), 0), Status::ok);
    rank.barrier();
  });
}

TEST_P(AtomicityPaths, CounterIsIncrementedAfterTheData) {
  constexpr std::uint64_t rounds = 40;
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    void* memory = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(64, &memory), Status::ok);
    std::memset(memory, 0, 64);
    rank.publish(9, memory);
    rank.barrier();
    auto* const counter = static_cast<std::uint64_t*>(memory);
    for (std::size_t const bytes : {std::size_t{8}, std::size_t{30000}}) {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        std::uint64_t const expected = __atomic_load_n(counter, __ATOMIC_ACQUIRE) + 3;
        rank.barrier();
        if (rank.rank() == 0) {
          std::vector<char> data(bytes, static_cast<char>(round));
          for (int kind = 0; kind < 3; ++kind) {
            RmaOp put = contiguous(OpKind::put, data.data(), rank.published(1, kind), bytes);
            put.notify = rank.published(1, 9);
            ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
          }
        } else {
          while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < expected) rank.engine().waits.progress();
          for (int kind = 0; kind < 3; ++kind) {
            ASSERT_EQ(buffers.kind(kind)[bytes - 1], static_cast<char>(round)) << "kind " << kind;
            ASSERT_TRUE(uniform(buffers.kind(kind), bytes)) << "kind " << kind;
          }
        }
        rank.barrier();
      }
    }
    if (rank.rank() == 0) {
      // A counter that does not exist is an error and increments nothing.
      char byte = 0;
      RmaOp put = contiguous(OpKind::put, &byte, rank.published(1, 0), 1);
      put.notify = 0x10000;
      EXPECT_EQ(run(rank.engine(), rank.peer(1), put), Status::bad_address);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(__atomic_load_n(counter, __ATOMIC_ACQUIRE), 2 * 3 * rounds);
    }
    EXPECT_EQ(rank.engine().memory.free(memory), Status::ok);
  });
}

/// Put, put and get of the same memory with OpFlags::ordered, without completion in between.
TEST_P(AtomicityPaths, OrderedOperationsTakeEffectInTheOrderOfIssue) {
  constexpr int rounds = 200;
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      for (int round = 0; round < rounds; ++round) {
        for (int kind = 0; kind < 3; ++kind) {
          for (int target = 0; target < 2; ++target) {
            std::size_t const bytes = round % 4 == 0 ? 9000 : 40;
            std::vector<char> first(bytes, static_cast<char>(round));
            std::vector<char> second(bytes / 2, static_cast<char>(round + 1));
            std::vector<char> got(bytes);
            auto const issue = [&](RmaOp transfer, OpFlags more) {
              transfer.flags = OpFlags::ordered | more;
              ASSERT_EQ(rank.engine().issue(rank.peer(target), transfer).status, Status::ok);
            };
            RemoteAddress const at = rank.published(target, kind) + 50000;
            issue(contiguous(OpKind::put, first.data(), at, bytes), OpFlags::none);
            issue(contiguous(OpKind::put, second.data(), at, bytes / 2),
                  round % 2 == 0 ? OpFlags::atomic : OpFlags::none);
            issue(contiguous(OpKind::get, got.data(), at, bytes),
                  round % 3 == 0 ? OpFlags::atomic : OpFlags::none);
            rank.engine().order.complete(rank.peer(target), EngineOrder::newest(rank.peer(target)));
            std::memcpy(first.data(), second.data(), bytes / 2);
            ASSERT_EQ(got, first) << "kind " << kind << " target " << target << " round " << round;
          }
        }
      }
    }
    rank.barrier();
  });
}

/// If single elements of plain memory are updated, element-wise accumulates of integers there are messages;
/// puts and gets of that memory are not.
TEST_P(AtomicityPaths, OrderedOperationsKeepOrderAcrossPaths) {
  constexpr std::int64_t rounds = 300;
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      for (int kind = 0; kind < 3; ++kind) {
        RmaOp const single =
            contiguous(ReduceOp::increment, ElementType::int64, nullptr, rank.published(1, kind), 8);
        ASSERT_EQ(run(rank.engine(), rank.peer(1), single), Status::ok);
      }
      for (std::int64_t round = 1; round <= rounds; ++round) {
        for (int kind = 0; kind < 3; ++kind) {
          std::int64_t const one = 1;
          std::int64_t const base = 1000 * round;
          std::int64_t got[2] = {-1, -1};
          auto const issue = [&](OpKind direction, void const* origin) {
            RmaOp transfer = contiguous(direction, const_cast<void*>(origin), rank.published(1, kind), 8);
            transfer.flags = OpFlags::ordered;
            ASSERT_EQ(rank.engine().issue(rank.peer(1), transfer).status, Status::ok);
          };
          issue(OpKind::put, &base);
          RmaOp add = contiguous(ReduceOp::sum, ElementType::int64, &one, rank.published(1, kind), 8);
          add.flags = add.flags | OpFlags::ordered;
          ASSERT_EQ(rank.engine().issue(rank.peer(1), add).status, Status::ok);
          issue(OpKind::get, &got[0]);
          issue(OpKind::put, &base);
          issue(OpKind::get, &got[1]);
          rank.engine().order.complete(rank.peer(1), EngineOrder::newest(rank.peer(1)));
          ASSERT_EQ(got[0], base + 1) << "kind " << kind << " round " << round;
          ASSERT_EQ(got[1], base) << "kind " << kind << " round " << round;
        }
      }
    }
    rank.barrier();
  });
}

/// The target keeps its stripes busy, so that atomic messages must wait and later ones could overtake them.
TEST_P(AtomicityPaths, OrderedOperationsDoNotOvertakeOneWaitingForStripes) {
  constexpr int rounds = 300;
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    void* memory = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(64, &memory), Status::ok);
    std::memset(memory, 0, 64);
    rank.publish(9, memory);
    rank.barrier();
    std::uint64_t const done = 1;
    if (rank.rank() == 1) {
      std::vector<char> block(40000, 1);
      while (__atomic_load_n(static_cast<std::uint64_t*>(memory), __ATOMIC_ACQUIRE) != done) {
        for (int kind = 0; kind < 3; ++kind) {
          RmaOp put = contiguous(OpKind::put, block.data(), rank.published(1, kind) + 64, block.size());
          put.flags = OpFlags::atomic;
          ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
        }
      }
    } else {
      for (int round = 0; round < rounds; ++round) {
        for (int kind = 0; kind < 3; ++kind) {
          std::int64_t const first = round;
          std::int64_t const second = -round;
          std::int64_t got = 0;
          auto const issue = [&](OpKind direction, void const* origin, OpFlags more) {
            RmaOp transfer = contiguous(direction, const_cast<void*>(origin), rank.published(1, kind), 8);
            transfer.flags = OpFlags::ordered | more;
            ASSERT_EQ(rank.engine().issue(rank.peer(1), transfer).status, Status::ok);
          };
          issue(OpKind::put, &first, OpFlags::atomic);
          issue(OpKind::put, &second, OpFlags::none);
          issue(OpKind::get, &got, OpFlags::none);
          rank.engine().order.complete(rank.peer(1), EngineOrder::newest(rank.peer(1)));
          ASSERT_EQ(got, second) << "kind " << kind << " round " << round;
        }
      }
      ASSERT_EQ(
          run(rank.engine(), rank.peer(1),
              contiguous(OpKind::put, const_cast<std::uint64_t*>(&done), rank.published(1, 9), sizeof done)),
          Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().memory.free(memory), Status::ok);
  });
}

}  // namespace
}  // namespace mpixrma::engine
