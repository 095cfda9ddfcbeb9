/// Small operations to one target that travel together: when they leave, and that nothing else is different.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "engine/atomic/footprint.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/random_layout.hpp"

namespace mpix::engine {
namespace {

struct JoinCase {
  char const* name;
  std::size_t bytes;  ///< mpix_engine_config::join_bytes
};

class Joining : public ::testing::TestWithParam<JoinCase> {
 protected:
  static bool joins() { return GetParam().bytes != MPIX_ENGINE_NEVER_JOIN; }
  /// As between hosts: messages for everything, at all ranks or for what rank 0 issues.
  static void messages(mpix_engine_config& config) {
    config.paths = MPIX_ENGINE_PATH_AGENT;
    config.join_bytes = GetParam().bytes;
  }
  static void configure(mpix_engine_config& config, int rank) {
    config.join_bytes = GetParam().bytes;
    if (rank == 0) messages(config);
  }
};

INSTANTIATE_TEST_SUITE_P(Sizes, Joining,
                         ::testing::Values(JoinCase{"usual", 0}, JoinCase{"tiny", 1024},
                                           JoinCase{"never", MPIX_ENGINE_NEVER_JOIN}),
                         [](auto const& instance) { return std::string(instance.param.name); });

// What rank 0 tells rank 1, and the other way round.
enum : int { memory_slot, stage_slot };
enum : std::uint64_t { held = 1, issued, seen };
constexpr std::size_t stripe = std::size_t{1} << stripe_shift;

/// Memory of rank 1, whose first element nobody may update by a sum as long as the stripe is held: what is
/// issued to it stays under way, and is not acknowledged.
class Stage {
 public:
  explicit Stage(Rank& rank) : rank_(rank) {
    EXPECT_EQ(rank.engine().allocate(2 * stripe, &memory_), Status::ok);
    std::memset(memory_, 0, 2 * stripe);
    rank.show(memory_slot, memory_);
    rank.barrier();
  }

  Rank& rank() const { return rank_; }
  Engine& engine() const { return rank_.engine(); }
  Peer& target() const { return rank_.peer(1); }
  std::int64_t* here() const { return static_cast<std::int64_t*>(memory_); }
  std::int64_t volatile const& element(std::size_t index) const { return here()[index]; }
  /// The element at rank 1; from `free` on, the stripe of the first one is another.
  RemoteAddress there(std::size_t index) const { return rank_.shown(1, memory_slot) + index * 8; }
  static constexpr std::size_t free = stripe / 8;

  /// At rank 1: holds the stripe of the first element from the beginning until rank 0 tells `until`; calls
  /// `meanwhile` when rank 0 has issued.
  template <typename Meanwhile>
  void hold(Meanwhile meanwhile, std::uint64_t until) const {
    Update const sum = contiguous(Operation::prod, ElementType::float64, nullptr,
                                  reinterpret_cast<RemoteAddress>(memory_), 16);
    Footprint footprint;
    footprint.target = {stripes_of(sum.target, sum.target + 16), 0};
    Holds holds = engine().stripes_for(rank_.peer(1), footprint);
    while (!holds.acquire()) {
    }
    rank_.tell(stage_slot, held);
    EXPECT_TRUE(rank_.was_told(0, stage_slot, issued));
    meanwhile();
    if (until != issued) {
      EXPECT_TRUE(rank_.was_told(0, stage_slot, until));
    }
  }

  /// At rank 0: something that is under way until rank 1 lets go of the stripe.
  void block() const {
    EXPECT_TRUE(rank_.was_told(1, stage_slot, held));
    static double const factors[2] = {2.0, 3.0};
    Update const product = contiguous(Operation::prod, ElementType::float64, factors, there(0), 16);
    EXPECT_EQ(engine().issue(target(), product).status, Status::ok);
  }
  void put(std::size_t index, std::int64_t value) const {
    EXPECT_EQ(engine().issue(target(), contiguous(Direction::put, &value, there(index), 8)).status,
              Status::ok);
  }
  std::uint64_t joined() const { return engine().statistics().requests_joined; }

  /// At rank 1: whether the element comes to have the value, without a call of the engine.
  bool becomes(std::size_t index, std::int64_t value, int milliseconds = 20000) const {
    for (int i = 0; i < milliseconds && element(index) != value; ++i) ::usleep(1000);
    return element(index) == value;
  }

 private:
  Rank& rank_;
  void* memory_ = nullptr;
};

TEST_P(Joining, a_lone_operation_leaves_at_once_and_others_behind_what_is_under_way) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    constexpr std::int64_t puts = 12;
    if (rank.rank() == 0) {
      stage.put(stage.free, 7);
      stage.engine().complete(stage.target(), UINT64_MAX);
      EXPECT_EQ(stage.joined(), 0u);
      stage.block();
      for (std::int64_t i = 0; i < puts; ++i)
        stage.put(stage.free + 1 + static_cast<std::size_t>(i), 100 + i);
      EXPECT_EQ(stage.joined(), joins() ? static_cast<std::uint64_t>(puts) : 0u);
      rank.tell(stage_slot, issued);
    } else {
      constexpr int a_while = 200;  // milliseconds
      stage.hold([&] { EXPECT_EQ(stage.becomes(stage.free + puts, 100 + puts - 1, a_while), !joins()); },
                 issued);
      // The origin does not call the engine: its agent sends when it is told that nothing is under way.
      for (std::int64_t i = 0; i < puts; ++i)
        EXPECT_TRUE(stage.becomes(stage.free + 1 + static_cast<std::size_t>(i), 100 + i));
      rank.tell(stage_slot, seen);
    }
    if (rank.rank() == 0) {
      EXPECT_TRUE(rank.was_told(1, stage_slot, seen));
    }
    rank.barrier();
  });
}

TEST_P(Joining, a_full_message_leaves_whatever_is_under_way) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    // More than fit into a message, within the window.
    std::size_t const puts = GetParam().bytes == 1024 ? 100 : 600;
    if (rank.rank() == 0) {
      stage.put(stage.free, 0);
      stage.engine().complete(stage.target(), UINT64_MAX);  // the answer tells the window
      stage.block();
      for (std::size_t i = 0; i < puts; ++i) stage.put(stage.free + i, static_cast<std::int64_t>(i) + 1);
      rank.tell(stage_slot, issued);
      EXPECT_TRUE(rank.was_told(1, stage_slot, seen));
    } else {
      stage.hold(
          [&] {
            EXPECT_TRUE(stage.becomes(stage.free, 1));
            rank.tell(stage_slot, seen);
          },
          issued);
      EXPECT_TRUE(stage.becomes(stage.free + puts - 1, static_cast<std::int64_t>(puts)));
    }
    rank.barrier();
  });
}

TEST_P(Joining, a_fence_sends_what_waits) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    if (rank.rank() == 0) {
      stage.block();
      stage.put(stage.free, 1);
      stage.engine().fence(stage.target(), UINT64_MAX);
      rank.tell(stage_slot, issued);
      EXPECT_TRUE(rank.was_told(1, stage_slot, seen));
    } else {
      stage.hold(
          [&] {
            EXPECT_TRUE(stage.becomes(stage.free, 1));
            rank.tell(stage_slot, seen);
          },
          issued);
    }
    rank.barrier();
  });
}

TEST_P(Joining, who_waits_for_an_answer_gets_it_while_something_else_is_under_way) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    if (rank.rank() == 0) {
      stage.block();
      stage.put(stage.free, 5);
      constexpr std::size_t gets = 20;
      std::int64_t got[gets] = {};
      std::deque<Waiter> waiters;
      for (std::int64_t& value : got) {
        Transfer get = contiguous(Direction::get, &value, stage.there(stage.free), 8);
        get.completion = &waiters.emplace_back();
        EXPECT_FALSE(stage.engine().issue(stage.target(), get).complete);
      }
      EXPECT_EQ(stage.joined(), joins() ? gets + 1 : 0u);
      for (Waiter const& waiter : waiters) {
        stage.engine().wait_until(stage.target(), [&] { return waiter.complete.load(); });
        EXPECT_EQ(waiter.status, Status::ok);
      }
      rank.tell(stage_slot, issued);
      stage.engine().complete(stage.target(), UINT64_MAX);
      rank.tell(stage_slot, seen);
    } else {
      stage.hold([] {}, issued);
      EXPECT_TRUE(rank.was_told(0, stage_slot, seen));
    }
    rank.barrier();
  });
}

TEST_P(Joining, an_atomic_operation_does_not_wait_for_others) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    if (rank.rank() == 0) {
      stage.block();
      stage.put(stage.free, 1);
      std::int64_t value = 2;
      Transfer atomic = contiguous(Direction::put, &value, stage.there(stage.free + 1), 8);
      atomic.guarantees = Guarantee::atomic;
      Waiter waiter;
      atomic.completion = &waiter;
      EXPECT_EQ(stage.engine().issue(stage.target(), atomic).status, Status::ok);
      rank.tell(stage_slot, issued);
      EXPECT_TRUE(rank.was_told(1, stage_slot, seen));
      stage.engine().complete(stage.target(), UINT64_MAX);
      EXPECT_TRUE(waiter.complete.load());
    } else {
      stage.hold(
          [&] {
            EXPECT_TRUE(stage.becomes(stage.free + 1, 2));
            EXPECT_TRUE(stage.becomes(stage.free, 1)) << "it was issued before";
            rank.tell(stage_slot, seen);
          },
          issued);
    }
    rank.barrier();
  });
}

TEST_P(Joining, what_follows_a_lock_that_was_given_back_arrives) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    constexpr LockId lock = 0;
    LockId first = 0;
    if (rank.rank() == 1) {
      ASSERT_EQ(stage.engine().create_locks(1, &first), Status::ok);
      ASSERT_EQ(first, lock);
    }
    rank.barrier();
    for (std::int64_t round = 1; round <= 20; ++round) {
      if (rank.rank() == 0) {
        Waiter waiter;
        ASSERT_EQ(stage.engine().lock(stage.target(), {lock, LockMode::exclusive, 0, false, &waiter}).status,
                  Status::ok);
        stage.engine().wait_until(stage.target(), [&] { return waiter.complete.load(); });
        // Of this the target tells nothing until it is asked.
        ASSERT_EQ(stage.engine().unlock(stage.target(), lock, 0).status, Status::ok);
        stage.put(stage.free, round);
        EXPECT_TRUE(rank.was_told(1, stage_slot, static_cast<std::uint64_t>(round)));
      } else {
        EXPECT_TRUE(stage.becomes(stage.free, round));
        rank.tell(stage_slot, static_cast<std::uint64_t>(round));
      }
    }
    rank.barrier();
  });
}

TEST_P(Joining, each_operation_has_its_own_error) {
  run_job(2, configure, [](Rank& rank) {
    Stage const stage(rank);
    if (rank.rank() == 0) {
      constexpr std::size_t count = 30;
      std::int64_t values[count];
      std::deque<Waiter> waiters;
      auto const is_bad = [](std::size_t i) { return i % 3 == 1; };
      std::mt19937_64 random(test::seed());
      for (int round = 0; round < 20; ++round) {
        waiters.clear();
        for (std::size_t i = 0; i < count; ++i) {
          values[i] = static_cast<std::int64_t>(random());
          bool const get = i % 2 == 0;
          RemoteAddress const at = is_bad(i) ? 4096 : stage.there(stage.free + i);
          Transfer transfer = contiguous(get ? Direction::get : Direction::put, &values[i], at, 8);
          transfer.guarantees = Guarantee::remote_completion;
          transfer.completion = &waiters.emplace_back();
          EXPECT_FALSE(stage.engine().issue(stage.target(), transfer).complete);
          transfer.direction = Direction::put;
          transfer.context = static_cast<std::uint32_t>(i + 1);
          transfer.guarantees = Guarantee::none;
          transfer.completion = nullptr;
          EXPECT_TRUE(stage.engine().issue(stage.target(), transfer).complete);
        }
        stage.engine().complete(stage.target(), UINT64_MAX);
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_TRUE(waiters[i].complete.load());
          EXPECT_EQ(waiters[i].status, is_bad(i) ? Status::bad_address : Status::ok) << i;
          Status const late = stage.engine().take_error(stage.target(), static_cast<std::uint32_t>(i + 1));
          EXPECT_EQ(late, is_bad(i) ? Status::bad_address : Status::ok) << i;
        }
      }
    }
    rank.barrier();
  });
}

/// What several origins do to one target: cells of their own, in order, and counters that all share.
class Mixture {
 public:
  static constexpr std::size_t cells = 64;
  static constexpr std::size_t counters = 8;
  static constexpr std::size_t cell_bytes = 64;
  static constexpr std::size_t large_bytes = 20000;
  static constexpr std::size_t own_bytes = cells * cell_bytes + large_bytes;
  static constexpr std::size_t shared_bytes = counters * 8 * 2;

  Mixture(Rank& rank, std::uint64_t seed) : rank_(rank), random_(seed + static_cast<unsigned>(rank.rank())) {
    std::size_t const bytes = shared_bytes + own_bytes * static_cast<std::size_t>(rank.size());
    EXPECT_EQ(rank.engine().allocate(bytes, &memory_), Status::ok);
    std::memset(memory_, 0, bytes);
    rank.show(memory_slot, memory_);
    rank.barrier();
    models_.resize(static_cast<std::size_t>(rank.size()), std::vector<unsigned char>(own_bytes));
    sums_.resize(static_cast<std::size_t>(rank.size()) * counters);
  }

  void step() {
    int const to = static_cast<int>(below(static_cast<std::size_t>(rank_.size())));
    switch (below(10)) {
      case 0: return large(to);
      case 1: return fetch(to);
      case 2: return get(to);
      case 3: return add_atomically(to);
      case 4:
        return below(4) == 0 ? rank_.engine().fence(rank_.peer(to), UINT64_MAX)
                             : rank_.engine().complete(rank_.peer(to), UINT64_MAX);
      case 5:
      case 6: return add(to);
      default: return put(to);
    }
  }

  void finish() {
    for (int to = 0; to < rank_.size(); ++to) rank_.engine().complete(rank_.peer(to), UINT64_MAX);
    check_gets();
    for (int to = 0; to < rank_.size(); ++to) {
      for (std::size_t i = 0; i < counters; ++i)
        rank_.show(2 + static_cast<int>(i), static_cast<std::uint64_t>(sums_[index(to, i)]));
      rank_.barrier();
      if (to == rank_.rank()) check_sums();
      rank_.barrier();
    }
    for (int to = 0; to < rank_.size(); ++to) {
      std::vector<unsigned char> back(own_bytes);
      EXPECT_EQ(
          run(rank_.engine(), rank_.peer(to), contiguous(Direction::get, back.data(), own(to, 0), own_bytes)),
          Status::ok);
      EXPECT_EQ(back, models_[static_cast<std::size_t>(to)]) << "at " << to << " of " << rank_.rank();
    }
    rank_.barrier();
  }

 private:
  struct Got {
    std::vector<unsigned char> bytes;
    std::vector<unsigned char> expected;
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::size_t index(int to, std::size_t counter) const {
    return static_cast<std::size_t>(to) * counters + counter;
  }
  RemoteAddress counter(int to, std::size_t which) const { return rank_.shown(to, memory_slot) + which * 8; }
  /// Byte `offset` of what only this process writes at rank `to`.
  RemoteAddress own(int to, std::size_t offset) const {
    return rank_.shown(to, memory_slot) + shared_bytes + own_bytes * static_cast<std::size_t>(rank_.rank()) +
           offset;
  }
  void issue(int to, auto const& operation) {
    EXPECT_EQ(rank_.engine().issue(rank_.peer(to), operation).status, Status::ok);
  }

  /// Some rows of a cell.
  void put(int to) {
    std::size_t const cell = below(cells) * cell_bytes;
    unsigned char data[cell_bytes];
    for (unsigned char& value : data) value = static_cast<unsigned char>(random_());
    std::size_t const rows = 1 + below(4);
    Dimension const there[] = {{rows, 16}};
    Transfer put = contiguous(Direction::put, data, own(to, cell), 8 * rows);
    put.target_layout = {8, there, {}};
    put.guarantees = Guarantee::ordered;
    issue(to, put);
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(model(to) + cell + 16 * row, data + 8 * row, 8);
  }
  void large(int to) {
    std::vector<unsigned char> data(1 + below(large_bytes), static_cast<unsigned char>(random_()));
    Transfer put = contiguous(Direction::put, data.data(), own(to, cells * cell_bytes), data.size());
    put.guarantees = Guarantee::ordered;
    issue(to, put);
    rank_.engine().complete_local(rank_.peer(to), UINT64_MAX);
    std::copy(data.begin(), data.end(), model(to) + cells * cell_bytes);
  }
  void get(int to) {
    std::size_t const cell = below(cells) * cell_bytes;
    unsigned char const* const now = model(to) + cell;
    Got& got = gets_.emplace_back(Got{std::vector<unsigned char>(cell_bytes), {now, now + cell_bytes}});
    Transfer get = contiguous(Direction::get, got.bytes.data(), own(to, cell), cell_bytes);
    get.guarantees = Guarantee::ordered;
    issue(to, get);
    if (gets_.size() < 100) return;
    for (int rank = 0; rank < rank_.size(); ++rank) rank_.engine().complete(rank_.peer(rank), UINT64_MAX);
    check_gets();
  }
  void check_gets() {
    for (Got const& got : gets_) EXPECT_EQ(got.bytes, got.expected);
    gets_.clear();
  }
  /// The counters as one array.
  void add(int to) {
    std::int64_t addends[counters];
    for (std::size_t i = 0; i < counters; ++i)
      sums_[index(to, i)] += addends[i] = static_cast<std::int64_t>(below(100));
    issue(to, contiguous(Operation::sum, ElementType::int64, addends, counter(to, 0), sizeof addends));
  }
  void add_atomically(int to) {
    std::size_t const which = below(counters);
    std::int64_t const addend = 1;
    Update add = contiguous(Operation::sum, ElementType::int64, &addend, counter(to, which), 8);
    add.guarantees = Guarantee::atomic;
    Waiter waiter;
    add.completion = &waiter;
    Issued const issued = rank_.engine().issue(rank_.peer(to), add);
    EXPECT_EQ(issued.status, Status::ok);
    if (!issued.complete) rank_.engine().wait_until(rank_.peer(to), [&] { return waiter.complete.load(); });
    sums_[index(to, which)] += addend;
  }
  void fetch(int to) {
    std::size_t const which = below(counters);
    std::int64_t const addend = 1 + static_cast<std::int64_t>(below(5));
    std::int64_t before = -1;
    Update const add =
        contiguous(Operation::sum, ElementType::int64, &addend, counter(to, which), 8, &before);
    EXPECT_EQ(run(rank_.engine(), rank_.peer(to), add), Status::ok);
    EXPECT_GE(before, least_[index(to, which)]) << "it only grows";
    least_[index(to, which)] = before + addend;
    sums_[index(to, which)] += addend;
  }
  void check_sums() {
    for (std::size_t i = 0; i < counters; ++i) {
      std::int64_t expected = 0;
      for (int rank = 0; rank < rank_.size(); ++rank)
        expected += static_cast<std::int64_t>(rank_.shown(rank, 2 + static_cast<int>(i)));
      EXPECT_EQ(static_cast<std::int64_t*>(memory_)[i], expected) << "counter " << i;
    }
  }
  unsigned char* model(int to) { return models_[static_cast<std::size_t>(to)].data(); }

  Rank& rank_;
  std::mt19937_64 random_;
  void* memory_ = nullptr;
  std::vector<std::vector<unsigned char>> models_;
  std::vector<std::int64_t> sums_;
  std::array<std::int64_t, test::max_ranks * counters> least_{};
  std::deque<Got> gets_;
};

TEST_P(Joining, random_operations_of_several_origins_leave_what_a_model_says) {
  std::uint64_t const seed = test::seed();
  run_job(3, messages, [seed](Rank& rank) {
    Mixture mixture(rank, seed);
    constexpr int steps = 20000 / test::slowness;
    for (int i = 0; i < steps; ++i) mixture.step();
    mixture.finish();
    std::uint64_t const joined = rank.engine().statistics().requests_joined;
    EXPECT_EQ(joined != 0, joins());
  });
}

}  // namespace
}  // namespace mpix::engine
