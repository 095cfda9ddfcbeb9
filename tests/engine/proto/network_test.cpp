/// UCX put and get between processes, also where UCX emulates them: order, completion, keys.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "engine/origin/peer_state.hpp"
#include "engine/proto/network.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/stopped.hpp"

namespace mpixrma::engine {
namespace {

void only_network(mpix_engine_config& config) {
  config.protocols = MPIX_ENGINE_PROTOCOL_NETWORK;
  config.network_without_hardware = 1;
}

/// Plain memory of each process, attached and published in slot 0. Collective.
std::vector<std::int64_t> publish_words(Rank& rank, std::size_t words) {
  std::vector<std::int64_t> memory(words, 0);
  EXPECT_EQ(rank.engine().memory.attach(memory.data(), words * 8), Status::ok);
  rank.publish(0, memory.data());
  rank.barrier();
  return memory;
}

/// Issues an operation that is not waited for individually.
void start(Rank& rank, RmaOp transfer, OpFlags flags) {
  transfer.flags = flags;
  ASSERT_EQ(rank.engine().issue(rank.peer(1), transfer).status, Status::ok);
}

void complete_all(Rank& rank) { rank.engine().order.complete(rank.peer(1), UINT64_MAX); }

/// Repeats a get and a put of the same memory, with `between` in between; the get must come first.
void get_then_put(OpFlags flags, void (*between)(Rank&)) {
  run_job(2, only_network, [=](Rank& rank) {
    constexpr std::size_t words = 8192;
    std::vector<std::int64_t> memory = publish_words(rank, words);
    if (rank.rank() == 0) {
      await_key(rank, 1, rank.published(1, 0));
      std::vector<std::int64_t> got(words);
      std::vector<std::int64_t> next(words);
      for (std::int64_t round = 1; round <= 60; ++round) {
        std::fill(next.begin(), next.end(), round);
        start(rank, contiguous(OpKind::get, got.data(), rank.published(1, 0), words * 8), flags);
        between(rank);
        start(rank, contiguous(OpKind::put, next.data(), rank.published(1, 0), words * 8), flags);
        complete_all(rank);
        ASSERT_EQ(std::count(got.begin(), got.end(), round - 1), static_cast<std::ptrdiff_t>(words));
      }
      EXPECT_GE(rank.engine().traffic.statistics().traffic.operations_by(Protocol::network), 120u);
    }
    rank.barrier();
  });
}

TEST(Network, OrderedPutDoesNotOvertakeOrderedGet) {
  get_then_put(OpFlags::ordered, [](Rank&) {});
}

TEST(Network, FenceOrdersGets) {
  get_then_put(OpFlags::none, [](Rank& rank) { rank.engine().order.fence(rank.peer(1), UINT64_MAX); });
}

TEST(Network, CompleteCoversOwnPutsWhileAnotherThreadCompletes) {
  run_job(2, only_network, [](Rank& rank) {
    constexpr std::size_t words = 4096;
    std::vector<std::int64_t> memory = publish_words(rank, 2 * words);
    if (rank.rank() == 0) {
      await_key(rank, 1, rank.published(1, 0));
      auto const body = [&](std::size_t half) {
        std::vector<std::int64_t> out(words);
        std::vector<std::int64_t> in(words);
        RemoteAddress const target = rank.published(1, 0) + half * words * 8;
        for (std::int64_t round = 1; round <= 200; ++round) {
          std::fill(out.begin(), out.end(), round);
          start(rank, contiguous(OpKind::put, out.data(), target, words * 8), OpFlags::none);
          complete_all(rank);
          ASSERT_EQ(run(rank.engine(), rank.peer(1), contiguous(OpKind::get, in.data(), target, words * 8)),
                    Status::ok);
          ASSERT_EQ(in, out) << "round " << round;
        }
      };
      std::thread other(body, std::size_t{1});
      body(0);
      other.join();
    }
    rank.barrier();
  });
}

/// UCX puts have no position of their own, but a key that an earlier message has requested.
TEST(Network, NewestPositionCoversPuts) {
  run_job(2, only_network, [](Rank& rank) {
    std::vector<std::int64_t> memory = publish_words(rank, 8192);
    Peer& peer = rank.peer(1);
    if (rank.rank() == 0) {
      EXPECT_EQ(EngineOrder::newest(peer), 0u);
      await_key(rank, 1, rank.published(1, 0));
      std::vector<std::int64_t> out(memory.size(), 7);
      start(rank, contiguous(OpKind::put, out.data(), rank.published(1, 0), out.size() * 8), OpFlags::none);
      EXPECT_NE(EngineOrder::newest(peer), 0u);
      rank.engine().order.complete(peer, EngineOrder::newest(peer));
      EXPECT_TRUE(peer.state().transfers().are_complete(peer.state().transfers().issued));
      EXPECT_TRUE(rank.engine().order.test(peer, 0));
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(std::count(memory.begin(), memory.end(), 7), static_cast<std::ptrdiff_t>(memory.size()));
    }
    rank.barrier();
  });
}

TEST(Network, EachOfManyRequestsForRemoteCompletionCompletes) {
  run_job(2, only_network, [](Rank& rank) {
    std::vector<std::int64_t> memory = publish_words(rank, 1000);
    if (rank.rank() == 0) {
      await_key(rank, 1, rank.published(1, 0));
      std::vector<std::int64_t> values(1000, 7);
      std::vector<Waiter> waiters(values.size());
      std::size_t at_once = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        RmaOp put = contiguous(OpKind::put, &values[i], rank.published(1, 0) + i * 8, 8);
        put.flags = OpFlags::remote_completion;
        put.completion = &waiters[i];
        Issued const issued = rank.engine().issue(rank.peer(1), put);
        ASSERT_EQ(issued.status, Status::ok);
        if (issued.complete) {
          ++at_once;
          waiters[i].complete = true;
        }
      }
      rank.engine().waits.until([&] {
        return std::all_of(waiters.begin(), waiters.end(), [](Waiter const& w) { return w.complete.load(); });
      });
      EXPECT_EQ(at_once, 0u);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(std::count(memory.begin(), memory.end(), 7), 1000);
    }
    rank.barrier();
  });
}

TEST(Network, LooksUpUnregisteredAddressOncePerSegmentVersion) {
  run_job(2, only_network, [](Rank& rank) {
    constexpr std::uint64_t puts = 200;
    std::vector<std::int64_t> memory(100, 0);
    rank.publish(0, memory.data());
    rank.barrier();
    auto const put_all = [&](std::int64_t value) {
      for (std::uint64_t i = 0; i < puts; ++i) {
        ASSERT_EQ(run(rank.engine(), rank.peer(1),
                      contiguous(OpKind::put, &value, rank.published(1, 0) + i % 100 * 8, 8)),
                  Status::ok);
      }
    };
    if (rank.rank() == 0) put_all(1);
    rank.barrier();
    if (rank.rank() == 1) {
      std::uint64_t const executed = rank.engine().traffic.statistics().traffic.messages_executed;
      EXPECT_GE(executed, puts);
      EXPECT_LE(executed, puts + 4);
      ASSERT_EQ(rank.engine().memory.attach(memory.data(), memory.size() * 8), Status::ok);
    }
    rank.barrier();
    // The agent's replies show that the segments have changed, and later that there is a key.
    if (rank.rank() == 0) {
      await_key(rank, 1, rank.published(1, 0));
      std::uint64_t const before =
          rank.engine().traffic.statistics().traffic.operations_by(Protocol::network);
      put_all(2);
      EXPECT_EQ(rank.engine().traffic.statistics().traffic.operations_by(Protocol::network), before + puts);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(std::count(memory.begin(), memory.end(), 2), 100);
      ASSERT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
    }
    rank.barrier();
  });
}

enum class Named { address, exposure };

/// The target sends no replies: it is stopped after a first operation, which accesses other memory.
void put_to_stopped_target(Named named) {
  run_job(2, only_network, [named](Rank& rank) {
    constexpr std::size_t puts = 100;
    std::vector<std::int64_t> memory(puts, 0);
    std::int64_t contact = 0;
    ExposureId id = ExposureId::none;
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), puts * 8), Status::ok);
    ASSERT_EQ(rank.engine().exposures.expose(memory.data(), puts * 8, Rights::all, &id), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, static_cast<std::uint64_t>(id));
    rank.publish(2, &contact);
    rank.publish(3, static_cast<std::uint64_t>(::getpid()));
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<std::int64_t> values(puts);
      auto const put_of = [&](std::size_t i) {
        bool const by_exposure = named == Named::exposure;
        RmaOp put = contiguous(OpKind::put, &values[i], (by_exposure ? 0 : rank.published(1, 0)) + i * 8, 8);
        if (by_exposure) put.exposed.target = static_cast<ExposureId>(rank.published(1, 1));
        return put;
      };
      RmaOp const first = contiguous(OpKind::put, values.data(), rank.published(1, 2), 8);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), first), Status::ok);
      complete_all(rank);
      test::StoppedProcess target(static_cast<pid_t>(rank.published(1, 3)));
      std::vector<Waiter> waiters(puts);
      for (std::size_t i = 0; i < puts; ++i) {
        values[i] = static_cast<std::int64_t>(i) + 1;
        RmaOp put = put_of(i);
        put.flags = OpFlags::remote_completion;
        put.completion = &waiters[i];
        ASSERT_EQ(rank.engine().issue(rank.peer(1), put).status, Status::ok);
      }
      EXPECT_FALSE(waiters[0].complete.load());
      target.continue_now();
      EXPECT_TRUE(target.was_stopped_until_then()) << "a put has waited for the target";
      complete_all(rank);
      for (Waiter const& waiter : waiters) {
        rank.engine().waits.until([&] { return waiter.complete.load(); });
        EXPECT_EQ(waiter.status, Status::ok);
      }
      auto const by_key = [&] {
        return rank.engine().traffic.statistics().traffic.operations_by(Protocol::network);
      };
      EXPECT_EQ(by_key(), 0u);
      rank.publish(4, rank.engine().traffic.statistics().traffic.messages_sent);
      // The reply to this put, or to the next one, brings the key.
      while (by_key() == 0) ASSERT_EQ(run(rank.engine(), rank.peer(1), put_of(puts - 1)), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      for (std::size_t i = 0; i < puts; ++i) EXPECT_EQ(memory[i], static_cast<std::int64_t>(i) + 1);
      // The first put, these puts, and a few requests for the key.
      EXPECT_LE(rank.published(0, 4), puts + 6);
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().exposures.withdraw(id), Status::ok);
    EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
  });
}

TEST(Network, PutsWithoutAKeyDoNotWaitForStoppedTarget) { put_to_stopped_target(Named::address); }

TEST(Network, PutsToAnExposureWithoutAKeyDoNotWaitForStoppedTarget) {
  put_to_stopped_target(Named::exposure);
}

/// Puts change from messages to UCX while the key arrives; the memory is registered anew in each round.
void put_while_key_arrives(OpFlags flags) {
  auto const many_messages = [](mpix_engine_config& config) {
    only_network(config);
    config.fragment_bytes = 4096;  // messages still wait for credit when the key has arrived
    config.credit_bytes = 16384;
  };
  run_job(2, many_messages, [flags](Rank& rank) {
    constexpr std::size_t words = 8192;
    constexpr int rounds = 20;
    std::vector<std::int64_t> memory(words, 0);
    rank.publish(0, memory.data());
    std::uint64_t by_message = 0;
    for (int round = 0; round < rounds; ++round) {
      if (rank.rank() == 1) {
        ASSERT_EQ(rank.engine().memory.attach(memory.data(), words * 8), Status::ok);
      }
      rank.barrier();
      if (rank.rank() == 0) {
        auto const traffic = [&] { return rank.engine().traffic.statistics().traffic; };
        std::uint64_t const before = traffic().operations_by(Protocol::network);
        std::uint64_t const messages_before = traffic().operations_by(Protocol::message);
        std::deque<std::vector<std::int64_t>> sent;
        std::int64_t value = 0;
        while (traffic().operations_by(Protocol::network) < before + 3) {
          if (sent.size() == 64) {
            complete_all(rank);
            sent.clear();
          }
          sent.emplace_back(words, ++value);
          start(rank, contiguous(OpKind::put, sent.back().data(), rank.published(1, 0), words * 8), flags);
        }
        std::vector<std::int64_t> found(words);
        start(rank, contiguous(OpKind::get, found.data(), rank.published(1, 0), words * 8), flags);
        complete_all(rank);
        ASSERT_EQ(std::count(found.begin(), found.end(), value), static_cast<std::ptrdiff_t>(words))
            << "round " << round;
        by_message += traffic().operations_by(Protocol::message) - messages_before;
        rank.publish(1, static_cast<std::uint64_t>(value));
      }
      rank.barrier();
      if (rank.rank() == 1) {
        auto const last = static_cast<std::int64_t>(rank.published(0, 1));
        ASSERT_EQ(std::count(memory.begin(), memory.end(), last), static_cast<std::ptrdiff_t>(words));
        ASSERT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
      }
      rank.barrier();
    }
    if (rank.rank() == 0) {
      EXPECT_GE(by_message, static_cast<std::uint64_t>(rounds));
    }
    rank.barrier();
  });
}

TEST(Network, OrderedPutsKeepTheirOrderWhileTheKeyArrives) { put_while_key_arrives(OpFlags::ordered); }

TEST(Network, OverlappingPutsKeepTheirOrderWhileTheKeyArrives) {
  put_while_key_arrives(OpFlags::overlap_ordered);
}

/// Also captures stderr: the engine prints before the body of the test runs.
void expect_hardware(mpix_engine_config& config) {
  config.protocols = MPIX_ENGINE_PROTOCOL_NETWORK;
  config.network_hardware_expected = 1;
  config.one_host = 0;  // otherwise UCX starts, and the engine prints, with the first message
  ::testing::internal::CaptureStderr();
}

/// The memory is protected after its registration: UCX's emulation would end the target's process.
TEST(Network, ExpectationOfHardwareDoesNotAcceptEmulation) {
  if (hardware_rdma_present(nullptr, common_log)) GTEST_SKIP() << "the network puts and gets in hardware";
  run_job(2, expect_hardware, [](Rank& rank) {
    std::string const written = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(written.find("network=warn: UCX emulates put and get"), std::string::npos) << written;
    constexpr std::size_t bytes = 4096;
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(rank.engine().memory.attach(memory, bytes), Status::ok);
    rank.publish(0, memory);
    rank.barrier();
    std::vector<std::byte> values(bytes);
    RmaOp const put = contiguous(OpKind::put, values.data(), rank.published(1, 0), bytes);
    if (rank.rank() == 0) {
      for (int i = 0; i < 100; ++i) ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      ASSERT_EQ(::mprotect(memory, bytes, PROT_NONE), 0);
    }
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(run(rank.engine(), rank.peer(1), put), Status::bad_address);
      EXPECT_EQ(rank.engine().traffic.statistics().traffic.operations_by(Protocol::network), 0u);
    }
    rank.barrier();
    ::munmap(memory, bytes);
  });
}

TEST(Network, MemoryIsRevokedDuringTransfers) {
  run_job(2, only_network, [](Rank& rank) {
    constexpr std::size_t bytes = 1 << 20;
    std::vector<char> memory(bytes);
    rank.publish(0, memory.data());
    rank.publish(1, std::uint64_t{0});
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<char> out(bytes, 1);
      for (int i = 0; i < 60; ++i) {
        start(rank, contiguous(OpKind::put, out.data(), rank.published(1, 0), bytes), OpFlags::none);
        start(rank, contiguous(OpKind::get, out.data(), rank.published(1, 0), bytes), OpFlags::none);
      }
      complete_all(rank);
      EXPECT_EQ(rank.engine().failures.take(rank.peer(1), 0), Status::ok);
    } else {
      for (int i = 0; i < 30; ++i) {
        ASSERT_EQ(rank.engine().memory.attach(memory.data(), bytes), Status::ok);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ASSERT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
      }
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
