/// Local completion per target: buffers may be reused although the target has not executed anything yet.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/engine_paths.hpp"
#include "tests/support/stopped.hpp"

namespace mpixrma::engine {
namespace {

class LocalCompletion : public EnginePath {
 protected:
  static void configure(mpix_engine_config& config, int rank) {
    EnginePath::configure(config, rank);
    config.fragment_bytes = config.credit_bytes = 0;  // the defaults: large buffers are lent to UCX
  }
};

constexpr std::size_t sizes[] = {8, 64, 1000, 12288, 4096, 24};
constexpr std::size_t room = 32768;

INSTANTIATE_TEST_SUITE_P(Paths, LocalCompletion, every_path(), path_name);

TEST_P(LocalCompletion, PutsToStoppedTargetCompleteLocally) {
  run_job(2, configure, [](Rank& rank) {
    std::vector<std::uint8_t> memory(room, 0);
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), room), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, static_cast<std::uint64_t>(::getpid()));
    rank.barrier();
    if (rank.rank() == 0) {
      Peer& peer = rank.peer(1);
      std::vector<std::uint8_t> origin(room);
      for (std::size_t i = 0; i < room; ++i) origin[i] = static_cast<std::uint8_t>(i * 7 + 1);
      std::vector<std::uint8_t> const sent = origin;
      RemoteAddress const there = rank.published(1, 0);
      ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::put, origin.data(), there, 8)), Status::ok);
      // UCX puts, not messages, which take their place until the key is known.
      if (std::string(GetParam().name) == "network") await_key(rank, 1, there);
      auto const target = static_cast<pid_t>(rank.published(1, 1));
      test::stop(target);
      std::deque<Waiter> waiters;
      std::size_t offset = 0;
      std::uint64_t newest = 0;
      for (std::size_t const bytes : sizes) {
        RmaOp put = contiguous(OpKind::put, origin.data() + offset, there + offset, bytes);
        put.flags = OpFlags::remote_completion;
        put.completion = &waiters.emplace_back();
        Issued const issued = rank.engine().issue(peer, put);
        ASSERT_EQ(issued.status, Status::ok);
        if (issued.complete) waiters.back().complete = true;
        newest = std::max(newest, issued.sequence);
        offset += bytes;
      }
      rank.engine().order.complete_local(peer, newest);
      std::fill(origin.begin(), origin.end(), std::uint8_t{0xee});
      auto const executed = std::count_if(waiters.begin(), waiters.end(),
                                          [](Waiter const& waiter) { return waiter.complete.load(); });
      if (std::string(GetParam().name) == "message") {
        EXPECT_EQ(executed, 0) << "by whom?";
        EXPECT_FALSE(rank.engine().order.test(peer, newest));
      }
      ::kill(target, SIGCONT);
      rank.engine().order.complete(peer, newest);
      for (Waiter const& waiter : waiters) {
        rank.engine().waits.until([&] { return waiter.complete.load(); });
        EXPECT_EQ(waiter.status, Status::ok);
      }
      std::vector<std::uint8_t> back(room);
      ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, back.data(), there, offset)), Status::ok);
      EXPECT_TRUE(std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(offset), sent.begin()));
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
  });
}

TEST_P(LocalCompletion, FetchedDataHaveArrived) {
  run_job(2, configure, [](Rank& rank) {
    std::vector<std::uint8_t> memory(1 << 20, static_cast<std::uint8_t>(rank.rank() + 3));
    std::int64_t counter = 40;
    ASSERT_EQ(rank.engine().memory.attach(memory.data(), memory.size()), Status::ok);
    rank.publish(0, memory.data());
    rank.publish(1, &counter);
    rank.barrier();
    if (rank.rank() == 0) {
      Peer& peer = rank.peer(1);
      for (std::int64_t round = 0; round < 5; ++round) {
        std::vector<std::uint8_t> got(memory.size());
        std::int64_t const one = 1;
        std::int64_t before = -1;
        RmaOp add =
            contiguous(ReduceOp::sum, ElementType::int64, &one, rank.published(1, 1), sizeof one, &before);
        Waiter waiters[2];
        RmaOp get = contiguous(OpKind::get, got.data(), rank.published(1, 0), got.size());
        get.completion = &waiters[0];
        add.completion = &waiters[1];
        ASSERT_EQ(rank.engine().issue(peer, get).status, Status::ok);
        ASSERT_EQ(rank.engine().issue(peer, add).status, Status::ok);
        rank.engine().order.complete_local(peer, UINT64_MAX);
        EXPECT_EQ(before, 40 + round);
        EXPECT_EQ(std::count(got.begin(), got.end(), 4), static_cast<std::ptrdiff_t>(got.size()));
        rank.engine().order.complete(peer, UINT64_MAX);
      }
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
  });
}

}  // namespace
}  // namespace mpixrma::engine
