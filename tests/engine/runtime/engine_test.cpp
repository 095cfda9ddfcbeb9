/// Whole operations between processes, on every path.
#include "engine/runtime/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/engine_paths.hpp"
#include "tests/support/full_length.hpp"

namespace mpixrma::engine {
namespace {

INSTANTIATE_TEST_SUITE_P(Paths, EnginePath, every_path(), path_name);

TEST_P(EnginePath, PutAndGetMoveTheValuesInEveryKindOfMemory) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    Engine& engine = rank.engine();
    if (rank.rank() == 0) {
      for (int target = 0; target < 2; ++target) {
        for (int kind = 0; kind < 3; ++kind) {
          for (std::size_t const bytes :
               {std::size_t{1}, std::size_t{8}, std::size_t{4097}, Buffers::bytes}) {
            std::vector<char> out(bytes);
            for (std::size_t i = 0; i < bytes; ++i)
              out[i] = static_cast<char>(i * 7 + bytes + static_cast<std::size_t>(kind));
            RemoteAddress const address = rank.published(target, kind);
            ASSERT_EQ(run(engine, rank.peer(target), contiguous(OpKind::put, out.data(), address, bytes)),
                      Status::ok);
            std::vector<char> in(bytes);
            ASSERT_EQ(run(engine, rank.peer(target), contiguous(OpKind::get, in.data(), address, bytes)),
                      Status::ok);
            ASSERT_EQ(in, out) << "target " << target << " kind " << kind << " bytes " << bytes;
          }
        }
      }
    }
    rank.barrier();
    for (int kind = 0; kind < 3; ++kind) {
      for (std::size_t i = 0; i < Buffers::bytes; ++i) {
        ASSERT_EQ(buffers.kind(kind)[i],
                  static_cast<char>(i * 7 + Buffers::bytes + static_cast<std::size_t>(kind)));
      }
    }
    rank.barrier();
    EXPECT_EQ(engine.memory.free(buffers.allocated), Status::ok);
    EXPECT_EQ(engine.memory.detach(buffers.attached.data()), Status::ok);
  });
}

TEST_P(EnginePath, MapsNoMemoryIfAllOperationsAreIssued) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    Engine& engine = rank.engine();
    engine.issue_all();
    rank.barrier();
    if (rank.rank() == 0) {
      Peer& peer = rank.peer(1);
      RemoteAddress const address = rank.published(1, 0);
      std::uint64_t out = 77;
      std::uint64_t in = 0;
      ASSERT_EQ(run(engine, peer, contiguous(OpKind::put, &out, address, sizeof out)), Status::ok);
      EXPECT_EQ(peer.translate(address, sizeof out), nullptr);
      ASSERT_EQ(run(engine, peer, contiguous(OpKind::get, &in, address, sizeof in)), Status::ok);
      EXPECT_EQ(in, out);
      if (std::byte* const mapped = engine.peer_memory.map(peer, address, sizeof in)) {
        std::memcpy(&in, mapped, sizeof in);
        EXPECT_EQ(in, out);
      } else {
        EXPECT_FALSE(std::string_view(GetParam().name) == "direct");
      }
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, StridedAndIndexedLayoutsCombine) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      // 100 rows of 24 out of 40 bytes, against a list of pieces of different lengths.
      Dimension const rows[] = {{100, 40}};
      std::vector<LayoutRun> pieces;
      std::size_t total = 0;
      for (std::ptrdiff_t at = 0; total < 2400; at += 90) {
        std::size_t const length = std::min<std::size_t>(1 + static_cast<std::size_t>(at) % 37, 2400 - total);
        pieces.push_back({at, length});
        total += length;
      }
      std::vector<char> out(4000);
      std::iota(out.begin(), out.end(), 3);
      for (int kind = 0; kind < 3; ++kind) {
        RmaOp transfer;
        transfer.kind = OpKind::put;
        transfer.origin = reinterpret_cast<std::byte*>(out.data());
        transfer.origin_layout = {24, rows, {}};
        transfer.target = rank.published(1, kind);
        transfer.target_layout = {2400, {}, pieces};
        ASSERT_EQ(run(rank.engine(), rank.peer(1), transfer), Status::ok);
        std::vector<char> in(4000);
        transfer.kind = OpKind::get;
        transfer.origin = reinterpret_cast<std::byte*>(in.data());
        ASSERT_EQ(run(rank.engine(), rank.peer(1), transfer), Status::ok);
        for (std::size_t i = 0; i < in.size(); ++i) {
          bool const in_row = i % 40 < 24;
          ASSERT_EQ(in[i], in_row ? out[i] : 0) << "byte " << i << " kind " << kind;
        }
      }
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, ConcurrentAtomicAccumulatesAreExact) {
  constexpr int ranks = 3;
  constexpr int rounds = 200;
  constexpr std::size_t elements = 1500;  // several fragments
  run_job(ranks, configure, [](Rank& rank) {
    Buffers buffers(rank);
    std::vector<double> ones(elements, 1.0);
    std::vector<std::int64_t> counts(elements, 1);
    double const scale = 2.0;
    for (int round = 0; round < rounds; ++round) {
      for (int kind = 0; kind < 3; ++kind) {
        RmaOp update = contiguous(ReduceOp::sum, ElementType::float64, ones.data(), rank.published(0, kind),
                                  elements * 8);
        update.scale = &scale;
        update.flags = OpFlags::atomic;
        ASSERT_EQ(rank.engine().issue(rank.peer(0), update).status, Status::ok);
        update.origin = reinterpret_cast<std::byte*>(counts.data());
        update.target += 40000;
        update.type = ElementType::int64;
        update.scale = nullptr;
        ASSERT_EQ(rank.engine().issue(rank.peer(0), update).status, Status::ok);
      }
    }
    rank.engine().order.complete(rank.peer(0), EngineOrder::newest(rank.peer(0)));
    EXPECT_EQ(rank.engine().failures.take(rank.peer(0), 0), Status::ok);
    rank.barrier();
    if (rank.rank() == 0) {
      for (int kind = 0; kind < 3; ++kind) {
        auto const* const sums = reinterpret_cast<double const*>(buffers.kind(kind));
        auto const* const totals = reinterpret_cast<std::int64_t const*>(buffers.kind(kind) + 40000);
        for (std::size_t i = 0; i < elements; ++i) {
          ASSERT_EQ(sums[i], 2.0 * ranks * rounds) << "kind " << kind;
          ASSERT_EQ(totals[i], ranks * rounds) << "kind " << kind;
        }
      }
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, ContendedCounterReturnsEachValueOnce) {
  constexpr int ranks = 3;
  int const rounds = 500 / test::shortened(2);
  run_job(ranks, configure, [rounds](Rank& rank) {
    Buffers buffers(rank);
    // Each process marks the values that it fetches in memory of process 0.
    for (int kind = 0; kind < 3; ++kind) {
      for (int round = 0; round < rounds; ++round) {
        std::int64_t const one = 1;
        std::int64_t fetched = -1;
        RmaOp const add =
            contiguous(ReduceOp::sum, ElementType::int64, &one, rank.published(0, kind), 8, &fetched);
        ASSERT_EQ(run(rank.engine(), rank.peer(0), add), Status::ok);
        ASSERT_GE(fetched, 0);
        ASSERT_LT(fetched, ranks * rounds);
        char mark = 1;
        RmaOp const put = contiguous(OpKind::put, &mark,
                                     rank.published(0, kind) + 64 + static_cast<std::uint64_t>(fetched), 1);
        ASSERT_EQ(run(rank.engine(), rank.peer(0), put), Status::ok);
      }
    }
    rank.barrier();
    if (rank.rank() == 0) {
      for (int kind = 0; kind < 3; ++kind) {
        std::int64_t count = 0;
        std::memcpy(&count, buffers.kind(kind), sizeof count);
        EXPECT_EQ(count, ranks * rounds);
        for (int i = 0; i < ranks * rounds; ++i) ASSERT_EQ(buffers.kind(kind)[64 + i], 1) << "value " << i;
      }
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, ReportsBadAddressesWithoutSideEffects) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      Engine& engine = rank.engine();
      std::int64_t value = 5;
      for (RemoteAddress const address : {RemoteAddress{16}, RemoteAddress{0x2000}, ~RemoteAddress{0} - 3}) {
        EXPECT_EQ(run(engine, rank.peer(1), contiguous(OpKind::put, &value, address, 8)),
                  Status::bad_address);
        EXPECT_EQ(run(engine, rank.peer(1), contiguous(OpKind::get, &value, address, 8)),
                  Status::bad_address);
        RmaOp sum = contiguous(ReduceOp::sum, ElementType::int64, &value, address, 8);
        EXPECT_EQ(run(engine, rank.peer(1), sum), Status::bad_address);
        sum.flags = OpFlags::atomic;
        EXPECT_EQ(run(engine, rank.peer(1), sum), Status::bad_address);
        std::int64_t before = 0;
        sum.result = reinterpret_cast<std::byte*>(&before);
        EXPECT_EQ(run(engine, rank.peer(1), sum), Status::bad_address);
      }
      // Without a completion object the failure is kept for completion calls with the same context only.
      RmaOp put = contiguous(OpKind::put, &value, 16, 8);
      put.context = 7;
      Issued const issued = engine.issue(rank.peer(1), put);
      if (!failed(issued.status)) {
        engine.order.complete(rank.peer(1), issued.sequence);
        EXPECT_EQ(engine.failures.take(rank.peer(1), 8), Status::ok);
        LateError error;
        EXPECT_EQ(engine.failures.take(rank.peer(1), 7, &error), Status::bad_address);
        EXPECT_EQ(error.kind, ReportedOperation::put);
        EXPECT_EQ(error.memory.address, 16);
        EXPECT_EQ(error.memory.bytes, 8);
        EXPECT_EQ(engine.failures.take(rank.peer(1), 7), Status::ok);
      }
      EXPECT_EQ(run(engine, rank.peer(1), contiguous(OpKind::put, &value, rank.published(1, 0), 8)),
                Status::ok);
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, ReportsEachFailureOnce) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      Engine& engine = rank.engine();
      std::int64_t value = 5;
      auto const put = [&](RemoteAddress address) {
        RmaOp transfer = contiguous(OpKind::put, &value, address, 8);
        transfer.context = 7;
        return engine.issue(rank.peer(1), transfer).status;
      };
      bool late = false;
      for (int i = 0; i < 20; ++i) late = !failed(put(16)) || late;
      engine.order.complete(rank.peer(1), EngineOrder::newest(rank.peer(1)));
      EXPECT_EQ(engine.failures.take(rank.peer(1), 7), late ? Status::bad_address : Status::ok);
      EXPECT_EQ(put(rank.published(1, 0)), Status::ok);
      engine.order.complete(rank.peer(1), EngineOrder::newest(rank.peer(1)));
      EXPECT_EQ(engine.failures.take(rank.peer(1), 7), Status::ok);
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, ListOfAdjacentPiecesIsSentAsBlock) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    std::memset(buffers.allocated, 0, Buffers::bytes);
    std::uint64_t const before = rank.engine().traffic.statistics().traffic.messages_executed;
    rank.barrier();
    constexpr std::size_t pieces = 3000;  // more than a message describes
    if (rank.rank() == 0) {
      std::vector<LayoutRun> touching;
      for (std::size_t i = 0; i < pieces; ++i) touching.push_back({static_cast<std::ptrdiff_t>(i), 1});
      std::vector<char> out(pieces, 3);
      RmaOp put = contiguous(OpKind::put, out.data(), rank.published(1, 0) + 64, pieces);
      put.target_layout = {pieces, {}, touching};
      put.notify = rank.published(1, 0);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      std::uint64_t counter = 0;
      std::memcpy(&counter, buffers.allocated, sizeof counter);
      EXPECT_EQ(counter, 1u);
      EXPECT_EQ(std::count(buffers.kind(0) + 64, buffers.kind(0) + 64 + pieces, 3), std::ptrdiff_t{pieces});
      EXPECT_LE(rank.engine().traffic.statistics().traffic.messages_executed - before, 2u);
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, FreedMemoryIsInaccessibleAndItsSuccessorIsFound) {
  run_job(2, configure, [](Rank& rank) {
    constexpr std::size_t bytes = 1 << 20;
    for (int round = 0; round < 20; ++round) {
      void* memory = nullptr;
      ASSERT_EQ(rank.engine().memory.allocate(bytes, &memory), Status::ok);
      std::memset(memory, 0, bytes);
      rank.publish(0, memory);
      rank.barrier();
      std::int64_t value = round;
      if (rank.rank() == 0) {
        ASSERT_EQ(run(rank.engine(), rank.peer(1), contiguous(OpKind::put, &value, rank.published(1, 0), 8)),
                  Status::ok);
      }
      rank.barrier();
      if (rank.rank() == 1) {
        ASSERT_EQ(*static_cast<std::int64_t*>(memory), round);
      }
      ASSERT_EQ(rank.engine().memory.free(memory), Status::ok);
      rank.barrier();
      if (rank.rank() == 0 && GetParam().paths != MPIX_ENGINE_PROTOCOL_CROSS_MEMORY) {
        EXPECT_EQ(run(rank.engine(), rank.peer(1), contiguous(OpKind::put, &value, rank.published(1, 0), 8)),
                  Status::bad_address);
      }
      rank.engine().peer_memory.drop_stale_mappings();
      rank.barrier();
    }
  });
}

TEST_P(EnginePath, FenceOrdersOperationsOnDifferentPaths) {
  int const rounds = 200 / test::shortened(2);
  run_job(2, configure, [rounds](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      std::vector<std::int64_t> ones(500, 1);
      for (int round = 1; round <= rounds; ++round) {
        RmaOp accumulate =
            contiguous(ReduceOp::sum, ElementType::int64, ones.data(), rank.published(1, 2), ones.size() * 8);
        accumulate.flags = OpFlags::atomic;
        ASSERT_EQ(rank.engine().issue(rank.peer(1), accumulate).status, Status::ok);
        rank.engine().order.fence(rank.peer(1), EngineOrder::newest(rank.peer(1)));
        std::int64_t flag = round;
        RmaOp put = contiguous(OpKind::put, &flag, rank.published(1, 0), 8);
        Issued const issued = rank.engine().issue(rank.peer(1), put);
        ASSERT_EQ(issued.status, Status::ok);
        rank.engine().order.complete(rank.peer(1), EngineOrder::newest(rank.peer(1)));
      }
    } else {
      auto const* const flag = static_cast<std::int64_t volatile*>(buffers.allocated);
      auto const* const sums = reinterpret_cast<std::int64_t volatile*>(buffers.plain.data());
      for (std::int64_t seen = 0; seen < rounds;) {
        seen = *flag;
        std::atomic_thread_fence(std::memory_order_acquire);
        ASSERT_GE(sums[499], seen);
      }
    }
    rank.barrier();
  });
}

TEST_P(EnginePath, ComputingTargetDoesNotDelayOrigin) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    using Clock = std::chrono::steady_clock;
    if (rank.rank() == 1) {
      // Busy outside of the library until the accumulate has arrived.
      auto const* const value = reinterpret_cast<double volatile*>(buffers.plain.data());
      auto const start = Clock::now();
      while (*value == 0.0 && Clock::now() - start < std::chrono::seconds(20)) {
      }
      EXPECT_EQ(*value, 1.5);
    } else {
      double addend = 1.5;
      RmaOp const accumulate =
          contiguous(ReduceOp::sum, ElementType::float64, &addend, rank.published(1, 2), 8);
      EXPECT_EQ(run(rank.engine(), rank.peer(1), accumulate), Status::ok);
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
