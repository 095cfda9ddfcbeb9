/// The rule by which requests for locks at a memory server overtake others
/// (docs/decisions/0010-queued-locks.md), tested on real locks, with random programs and a simulated clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "mpi-windows/nam/lock_wait.hpp"
#include "nam/protocol/shared_control.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::windows {
namespace {

using engine::LockMode;
using Random = std::mt19937;

unsigned below(Random& random, std::size_t end) { return static_cast<unsigned>(random() % end); }

/// Repeatedly takes the locks of `order` one by one and then releases all.
class Process {
 public:
  Process(nam::SharedControl const& control, std::vector<std::uint32_t> order, LockMode mode, int epochs)
      : control_(control.reopen()), order_(std::move(order)), mode_(mode), epochs_(epochs) {}

  bool has_ended() const { return epochs_ == 0; }
  bool is_exclusive() const { return mode_ == LockMode::exclusive; }
  /// Returns the lock that the process has requested and does not hold, if any.
  std::optional<std::uint32_t> wanted() const { return wait_ ? std::optional(order_[held_]) : std::nullopt; }
  /// Returns the lock that the process requests in its next step, if any.
  std::optional<std::uint32_t> next() const {
    return held_ != order_.size() ? std::optional(order_[held_]) : std::nullopt;
  }
  /// Takes one step. Returns whether the process has acquired a lock.
  bool go(NamLockWait::Clock::time_point now) {
    if (held_ == order_.size()) {
      for (std::uint32_t const rank : order_) control_.unlock(0, rank);
      held_ = 0;
      --epochs_;
      return false;
    }
    std::uint32_t const rank = order_[held_];
    if (!wait_) wait_.emplace(overtake_delay_, static_cast<int>(rank), mode_, now);
    auto const try_lock = [&](bool* has_turn) { return control_.try_lock(0, rank, mode_, has_turn); };
    if (!wait_->attempt(
            try_lock, [this] { return held_ != 0; }, now))
      return false;
    wait_.reset();
    ++held_;
    return true;
  }

 private:
  nam::SharedControl const control_;
  std::vector<std::uint32_t> const order_;
  LockMode const mode_;
  int epochs_;
  std::size_t held_ = 0;
  NamOvertakeDelay overtake_delay_;
  std::optional<NamLockWait> wait_;
};

struct World {
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<std::vector<int>> overtakes;  ///< [waiting exclusive process][overtaking process]
  int most = 0;

  /// Runs until all processes have ended. Returns false if that takes too many steps.
  bool run(Random& random) {
    constexpr int max_steps = 200000;
    NamLockWait::Clock::time_point now{};
    overtakes.assign(processes.size(), std::vector<int>(processes.size()));
    for (int step = 0; step < max_steps; ++step) {
      now += std::chrono::milliseconds(1);
      if (std::ranges::all_of(processes, [](auto const& process) { return process->has_ended(); }))
        return true;
      std::size_t const next = below(random, processes.size());
      Process& process = *processes[next];
      if (process.has_ended()) continue;
      auto const requested = process.next();
      if (!process.go(now)) continue;
      if (process.is_exclusive()) {
        std::ranges::fill(overtakes[next], 0);
      } else {
        count(next, *requested);
      }
    }
    return false;
  }
  /// Counts that the process `overtaking` has overtaken each waiting exclusive request for the lock of
  /// `rank`.
  void count(std::size_t overtaking, std::uint32_t rank) {
    for (std::size_t other = 0; other < processes.size(); ++other) {
      bool const waits = processes[other]->is_exclusive() && processes[other]->wanted() == rank;
      if (waits) most = std::max(most, ++overtakes[other][overtaking]);
    }
  }
};

TEST(NamLocks, SharedLockSetsAndSingleExclusiveLocksDoNotDeadlock) {
  auto const first = static_cast<std::uint32_t>(test::seed());
  for (std::uint32_t round = 0; round < 100; ++round) {
    Random random(first + round);
    nam::SharedControl const control = nam::SharedControl::make(1);
    World world;
    for (unsigned i = 4 + below(random, 4); i != 0; --i) {
      std::vector<std::uint32_t> order{0, 1, 2};
      std::ranges::shuffle(order, random);
      bool const exclusive = below(random, 2) == 0;
      if (exclusive) order.resize(1);
      world.processes.push_back(
          std::make_unique<Process>(control, order, exclusive ? LockMode::exclusive : LockMode::shared, 5));
    }
    ASSERT_TRUE(world.run(random)) << "seed " << first + round;
  }
}

/// Each of eight processes first acquires a lock of its own: as the holder of a lock, it may overtake.
TEST(NamLocks, EachProcessOvertakesAnExclusiveRequestAFewTimesOnly) {
  constexpr std::uint32_t sharing = 8;
  // The number is random: rarely above 16, and about 100 if holders overtook without a delay.
  constexpr int max_overtakes = 40;
  auto const first = static_cast<std::uint32_t>(test::seed());
  int most = 0;
  for (std::uint32_t round = 0; round < 10; ++round) {
    Random random(first + round);
    nam::SharedControl const control = nam::SharedControl::make(1);
    World world;
    for (std::uint32_t i = 0; i < sharing; ++i)
      world.processes.push_back(
          std::make_unique<Process>(control, std::vector{i + 1, 0u}, LockMode::shared, 500));
    for (int i = 0; i < 2; ++i)
      world.processes.push_back(std::make_unique<Process>(control, std::vector{0u}, LockMode::exclusive, 20));
    ASSERT_TRUE(world.run(random)) << "seed " << first + round;
    most = std::max(most, world.most);
  }
  EXPECT_LE(most, max_overtakes);
}

}  // namespace
}  // namespace mpixrma::windows
