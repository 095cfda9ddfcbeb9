/// Holders by the agent's grant, waiting requests, and the limits per process.
#include "engine/sync/lock_table.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <vector>

namespace mpixrma::engine {
namespace {

using Decision = LockTable::Decision;

struct Case {
  explicit Case(LockTable::Clock::duration overtake_delay = LockTable::Clock::duration::max())
      : table(common_log, overtake_delay) {
    LockId first = 1;
    EXPECT_EQ(table.create(2, &first), Status::ok);
    EXPECT_EQ(first, 0u);
  }

  /// The operation ids number the requests.
  void ask(std::uint64_t process, std::uint32_t owner, LockMode mode, bool overtakes = false,
           LockTime time = 0) {
    table.acquire(0, {{process, owner}, mode, overtakes, time, ++operation_id, 0, &decisions});
  }
  /// Requests a shared lock for a process that acquired its other locks just now.
  void ask_late(std::uint64_t process) { ask(process, 0, LockMode::shared, true, table.clock().now()); }
  Status attempt(std::uint64_t process, LockMode mode) {
    table.try_acquire(0, {{process, 0}, mode, false, 0, ++operation_id, 0, &decisions});
    std::vector<Decision> const told = take();
    return told.size() == 1 ? told.front().status : Status::malformed;
  }
  Status release(std::uint64_t process, std::uint32_t owner = 0) {
    return table.release(0, {process, owner}, decisions);
  }
  std::vector<Decision> take() { return table.take_decisions(decisions); }
  /// Returns the processes whose requests were granted since the last call, in order; a failure counts as 0.
  std::vector<std::uint64_t> granted() {
    std::vector<std::uint64_t> processes;
    for (Decision const& decision : take())
      processes.push_back(decision.status == Status::ok ? decision.process : 0);
    return processes;
  }

  LockTable table;
  LockTable::Decisions decisions;
  std::uint64_t operation_id = 0;
};

using Processes = std::vector<std::uint64_t>;

TEST(LockTable, GrantsInFifoOrder) {
  Case made;
  made.ask(1, 0, LockMode::shared);
  made.ask(2, 0, LockMode::shared);
  made.ask(3, 0, LockMode::exclusive);
  made.ask(4, 0, LockMode::shared);
  made.ask(5, 0, LockMode::shared, true);
  EXPECT_EQ(made.granted(), (Processes{1, 2, 5}));
  EXPECT_EQ(made.release(3), Status::bad_argument);  // it waits
  for (std::uint64_t const process : {1, 5, 2}) EXPECT_EQ(made.release(process), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{3}));
  EXPECT_EQ(made.release(1), Status::bad_argument);
  EXPECT_EQ(made.release(3), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{4}));
  EXPECT_EQ(made.attempt(6, LockMode::exclusive), Status::busy);
  EXPECT_EQ(made.attempt(6, LockMode::shared), Status::ok);
  EXPECT_EQ(made.release(4), Status::ok);
  EXPECT_EQ(made.attempt(7, LockMode::exclusive), Status::busy);
  EXPECT_EQ(made.release(6), Status::ok);
  EXPECT_EQ(made.attempt(7, LockMode::exclusive), Status::ok);
  EXPECT_EQ(made.attempt(8, LockMode::shared), Status::busy);
}

TEST(LockTable, SharesPassExclusiveRequestsThatAreNotEarlier) {
  Case made;
  made.ask(1, 0, LockMode::shared);
  LockTime const before = made.table.clock().now();
  made.ask(2, 0, LockMode::exclusive);
  made.ask(3, 0, LockMode::shared, true, before);
  EXPECT_EQ(made.granted(), (Processes{1, 3}));
  LockTime const between = made.table.clock().now();
  made.ask(4, 0, LockMode::exclusive);
  made.ask(5, 0, LockMode::shared, true, between);  // behind 2, before 4
  made.ask_late(6);
  EXPECT_EQ(made.granted(), (Processes{}));
  EXPECT_EQ(made.release(1), Status::ok);
  EXPECT_EQ(made.release(3), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{2}));
  EXPECT_EQ(made.release(2), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{5}));
  EXPECT_EQ(made.release(5), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{4}));
  EXPECT_EQ(made.release(4), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{6}));
}

TEST(LockTable, SharesPassAfterTheirTimeout) {
  Case made(std::chrono::milliseconds(1));
  made.ask(1, 0, LockMode::shared);
  made.ask(2, 0, LockMode::exclusive);
  EXPECT_EQ(made.granted(), (Processes{1}));
  auto const wait = [&made] {
    pollfd timer{made.table.timer_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&timer, 1, 60'000), 1);
    while (!made.table.is_overtake_due()) {
    }
    made.table.admit_overtaking(made.decisions);
    EXPECT_FALSE(made.table.is_overtake_due());
    EXPECT_EQ(::poll(&timer, 1, 0), 0);
  };
  for (std::uint64_t process = 3; process < 7; ++process) {
    made.ask_late(process);
    EXPECT_EQ(made.granted(), (Processes{}));
    wait();
    EXPECT_EQ(made.granted(), (Processes{process}));
  }
  // A request granted earlier has no deadline any more.
  made.ask_late(7);
  for (std::uint64_t process : {1, 3, 4, 5, 6}) EXPECT_EQ(made.release(process), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{2}));
  EXPECT_EQ(made.release(2), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{7}));
  wait();
  EXPECT_EQ(made.granted(), (Processes{}));
}

/// A time that no legitimate process sends.
TEST(LockTable, WorksAtMaximumTime) {
  Case made;
  made.ask(1, 0, LockMode::shared, true, UINT64_MAX);
  EXPECT_EQ(made.table.clock().now(), LockClock::last);
  made.ask(2, 0, LockMode::exclusive);
  made.ask(3, 0, LockMode::exclusive);
  made.ask(4, 0, LockMode::shared, true, made.table.clock().now());
  EXPECT_EQ(made.table.clock().now(), LockClock::last);
  EXPECT_EQ(made.granted(), (Processes{1, 4}));
}

TEST(LockTable, RefusesSecondRequestOfOneOwner) {
  Case made;
  made.ask(1, 0, LockMode::exclusive);
  made.ask(1, 0, LockMode::exclusive);
  made.ask(1, 1, LockMode::exclusive);
  made.ask(1, 1, LockMode::shared);
  EXPECT_EQ(made.granted(), (Processes{1, 0, 0}));
  EXPECT_EQ(made.release(1, 0), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{1}));
  EXPECT_EQ(made.release(1, 0), Status::bad_argument);
}

TEST(LockTable, SkipsEndedProcesses) {
  Case made;
  made.ask(1, 0, LockMode::shared);
  made.ask(2, 0, LockMode::exclusive);
  made.ask(1, 1, LockMode::shared);
  made.ask(3, 0, LockMode::exclusive);
  EXPECT_EQ(made.granted(), (Processes{1}));
  made.table.forget(2, made.decisions);
  EXPECT_FALSE(made.table.concerns(2));
  EXPECT_EQ(made.granted(), (Processes{1}));
  made.table.forget(1, made.decisions);
  EXPECT_EQ(made.granted(), (Processes{3}));
  EXPECT_FALSE(made.table.concerns(1));
  EXPECT_EQ(made.release(3), Status::ok);
  EXPECT_FALSE(made.table.concerns(3));
}

TEST(LockTable, NotifiesWaitersOfDestruction) {
  Case made;
  made.ask(1, 0, LockMode::exclusive);
  made.ask(2, 0, LockMode::exclusive);
  EXPECT_EQ(made.granted(), (Processes{1}));
  EXPECT_EQ(made.table.destroy(0, 1), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{0}));
  EXPECT_FALSE(made.table.concerns(1));
  EXPECT_FALSE(made.table.concerns(2));
}

/// Excessive requests of one process do not affect the others.
TEST(LockTable, BoundsRequestsPerProcess) {
  constexpr std::uint32_t most = 65536;
  Case made;
  for (std::uint32_t owner = 0; owner < most; ++owner) made.ask(1, owner, LockMode::shared);
  EXPECT_EQ(made.granted().size(), most);
  made.ask(1, most, LockMode::shared);
  std::vector<Decision> const told = made.take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().status, Status::out_of_memory);
  made.ask(2, 0, LockMode::shared);
  made.ask(3, 0, LockMode::exclusive);
  EXPECT_EQ(made.granted(), (Processes{2}));
  EXPECT_EQ(made.release(1, most - 1), Status::ok);
  made.ask(1, most, LockMode::exclusive);
  EXPECT_EQ(made.take().size(), 0u);
  made.table.forget(1, made.decisions);
  EXPECT_EQ(made.release(2), Status::ok);
  EXPECT_EQ(made.granted(), (Processes{3}));
}

}  // namespace
}  // namespace mpixrma::engine
