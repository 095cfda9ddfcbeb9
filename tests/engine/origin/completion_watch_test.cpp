/// Callbacks for the completion of all operations issued to a peer, without a wait.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/engine_paths.hpp"
#include "tests/support/stopped.hpp"

namespace mpixrma::engine {
namespace {

class CompletionWatch : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, CompletionWatch, every_path(), path_name);

constexpr std::size_t watched_bytes = 100000;

void wait_for(Engine& engine, Waiter const& waiter) {
  engine.waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
}

TEST_P(CompletionWatch, ReportsLocalAndRemoteCompletion) {
  run_job(2, configure, [](Rank& rank) {
    std::vector<std::uint8_t> memory(watched_bytes, 0);
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), watched_bytes), Status::ok);
    rank.publish(0, memory.data());
    rank.barrier();
    if (rank.rank() == 0) {
      Engine& engine = rank.engine();
      Peer& peer = rank.peer(1);
      for (std::size_t const bytes : {std::size_t{8}, std::size_t{3000}, watched_bytes}) {
        std::vector<std::uint8_t> origin(bytes, static_cast<std::uint8_t>(bytes + 1));
        std::vector<std::uint8_t> back(bytes, 0);
        Waiter put_waiter;
        Waiter get_waiter;
        Waiter local;
        Issued issued =
            engine.issue(peer, contiguous(OpKind::put, origin.data(), rank.published(1, 0), bytes));
        ASSERT_EQ(issued.status, Status::ok);
        engine.order.watch_local(peer, engine.order.newest(peer), local);
        engine.order.watch(peer, engine.order.newest(peer), 0, put_waiter);
        wait_for(engine, local);
        std::fill(origin.begin(), origin.end(), std::uint8_t{0xee});
        wait_for(engine, put_waiter);
        EXPECT_TRUE(engine.order.test(peer, issued.sequence));
        issued = engine.issue(peer, contiguous(OpKind::get, back.data(), rank.published(1, 0), bytes));
        ASSERT_EQ(issued.status, Status::ok);
        engine.order.watch(peer, engine.order.newest(peer), 0, get_waiter);
        wait_for(engine, get_waiter);
        EXPECT_EQ(std::count(back.begin(), back.end(), static_cast<std::uint8_t>(bytes + 1)),
                  static_cast<std::ptrdiff_t>(bytes));
        for (Waiter const* const waiter : {&local, &put_waiter, &get_waiter})
          EXPECT_EQ(waiter->status, Status::ok);
      }
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
  });
}

TEST_P(CompletionWatch, ReportsNoCompletionWhileTargetIsStopped) {
  if (std::string(GetParam().name) != "message") GTEST_SKIP() << "not all puts need the target";
  run_job(2, configure, [](Rank& rank) {
    std::vector<std::uint8_t> memory(watched_bytes, 0);
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), watched_bytes), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, static_cast<std::uint64_t>(::getpid()));
    rank.barrier();
    if (rank.rank() == 0) {
      Engine& engine = rank.engine();
      Peer& peer = rank.peer(1);
      std::uint64_t value = 5;
      RmaOp const put = contiguous(OpKind::put, reinterpret_cast<std::uint8_t*>(&value), rank.published(1, 0),
                                   sizeof value);
      ASSERT_EQ(run(engine, peer, put), Status::ok);
      auto const target = static_cast<pid_t>(rank.published(1, 1));
      test::stop(target);
      Waiter local;
      Waiter complete;
      ASSERT_EQ(engine.issue(peer, put).status, Status::ok);
      engine.order.watch_local(peer, engine.order.newest(peer), local);
      engine.order.watch(peer, engine.order.newest(peer), 0, complete);
      wait_for(engine, local);
      for (int i = 0; i < 1000; ++i) engine.waits.progress();
      EXPECT_FALSE(complete.complete.load());
      ::kill(target, SIGCONT);
      wait_for(engine, complete);
      EXPECT_EQ(complete.status, Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
  });
}

TEST_P(CompletionWatch, ReportsFailureOfItsContextOnce) {
  run_job(2, configure, [](Rank& rank) {
    rank.barrier();
    if (rank.rank() == 0) {
      Engine& engine = rank.engine();
      Peer& peer = rank.peer(1);
      std::uint8_t byte = 1;
      RmaOp put = contiguous(OpKind::put, &byte, 4096, 1);  // unmapped memory
      put.context = 7;
      bool const by_call = failed(engine.issue(peer, put).status);
      Waiter other;
      Waiter own;
      Waiter again;
      engine.order.watch(peer, engine.order.newest(peer), 6, other);
      wait_for(engine, other);
      engine.order.watch(peer, engine.order.newest(peer), 7, own);
      wait_for(engine, own);
      engine.order.watch(peer, engine.order.newest(peer), 7, again);
      wait_for(engine, again);
      EXPECT_EQ(other.status, Status::ok);
      EXPECT_NE(failed(own.status), by_call);
      EXPECT_EQ(again.status, Status::ok);
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
