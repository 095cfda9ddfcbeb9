/// Single elements are updated by the CPU's atomics, arrays at vector speed until one of their elements is
/// updated alone: in any mixture, on every path, no update is lost.
#include "engine/op/kernel/update_modes.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "engine/base/liveness.hpp"
#include "engine/sync/stripes.hpp"
#include "tests/support/child.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/full_length.hpp"

namespace mpixrma::engine {
namespace {

constexpr RemoteAddress granule = RemoteAddress{1} << granule_shift;

TEST(UpdateModes, MemoryOfOneModeIsUnderOneStripe) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    RemoteAddress const address = random() >> 17;
    RemoteAddress const other = address + (random() % 64) * granule_count * granule;
    ASSERT_EQ(stripes_of(address, address + 1), stripes_of(other, other + 1)) << address << " " << other;
  }
}

TEST(UpdateModes, SwitchCoversItsGranule) {
  auto const modes = std::make_unique<UpdateModes>();
  RemoteAddress const base = 0x7f1234560000;
  modes->switch_to_elements(base + granule + 8);
  EXPECT_TRUE(modes->is_by_element(base + granule));
  EXPECT_TRUE(modes->is_by_element(base + 2 * granule - 1));
  EXPECT_FALSE(modes->is_by_element(base + granule - 1));
  EXPECT_FALSE(modes->is_by_element(base + 2 * granule));
  EXPECT_TRUE(modes->any_by_element(base, base + granule + 1));
  EXPECT_FALSE(modes->any_by_element(base, base + granule));
  EXPECT_FALSE(modes->any_by_element(base + 2 * granule, base + 5 * granule));
  EXPECT_TRUE(modes->all_by_element(base + granule, base + 2 * granule));
  EXPECT_FALSE(modes->all_by_element(base + granule, base + 2 * granule + 1));
  EXPECT_FALSE(modes->all_by_element(base, base + 2 * granule));
  EXPECT_TRUE(modes->any_by_element(0, ~RemoteAddress{0})) << "more memory than there are modes";
  EXPECT_FALSE(modes->all_by_element(0, ~RemoteAddress{0}));
}

TEST(UpdateModes, SwitchesTheGranulesOfARange) {
  auto const table = std::make_unique<StripeTable>();
  RemoteAddress const base = 0x7f1234560000;
  switch_to_elements(*table, base + granule + 8, base + 3 * granule + 1);
  EXPECT_TRUE(table->modes.all_by_element(base + granule, base + 4 * granule));
  EXPECT_FALSE(table->modes.is_by_element(base));
  EXPECT_FALSE(table->modes.is_by_element(base + 4 * granule));
  EXPECT_TRUE(table->locks[0].try_lock_untouched(own_process_id())) << "a stripe was left locked";
}

TEST(UpdateModes, RangeOfOneModeEndsAtModeChange) {
  auto const modes = std::make_unique<UpdateModes>();
  RemoteAddress const base = 0x7f1234560000;
  modes->switch_to_elements(base + granule);
  modes->switch_to_elements(base + 2 * granule);
  EXPECT_EQ(modes->end_of_mode(base + 8, base + 5 * granule), base + granule);
  EXPECT_EQ(modes->end_of_mode(base + granule, base + 5 * granule), base + 3 * granule);
  EXPECT_EQ(modes->end_of_mode(base + 3 * granule - 1, base + 5 * granule), base + 3 * granule);
  EXPECT_EQ(modes->end_of_mode(base + 3 * granule, base + 5 * granule), base + 5 * granule);
  EXPECT_EQ(modes->end_of_mode(base + 8, base + 16), base + 16);
  EXPECT_EQ(modes->end_of_mode(base + granule + 8, base + 3 * granule), base + 3 * granule);
}

/// Elements at distances of 1 to 3 longs, aligned or not, in memory with random modes that is mapped at
/// another address.
TEST(UpdateModes, UpdatesAreSplitAtModeChanges) {
  constexpr std::size_t count = 1200;
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::size_t const stride = 1 + random() % 3;
    std::size_t const block = stride == 1 ? 1 : 1 + random() % (stride - 1);
    std::size_t const skew = random() % 4 == 0 ? 3 : 8 * (random() % 200);
    auto const modes = std::make_unique<UpdateModes>();
    RemoteAddress const address = 0x7f1234560000 + granule * (random() % 64);
    for (int i = 0; i < 8; ++i) modes->switch_to_elements(address + random() % (count * 8 * stride));
    alignas(4096) static std::byte memory[count * 24 + 4096];
    std::memset(memory, 0, sizeof memory);
    Dimension const rows[] = {{count / block, static_cast<std::ptrdiff_t>(8 * stride)}};
    Layout const layout = stride == 1 ? Layout::contiguous(8 * count) : Layout{8 * block, rows, {}};
    std::size_t const elements = layout.size() / 8;
    std::vector<std::int64_t> summands(elements);
    std::vector<std::int64_t> before(elements, -1);
    for (std::size_t i = 0; i < elements; ++i) summands[i] = static_cast<std::int64_t>(i) + 1;
    Reduction const sum{ElementType::int64, ReduceOp::sum, true, nullptr};
    AtomicRegions const places{modes.get(), address - reinterpret_cast<std::uintptr_t>(memory)};
    auto const bytes_of = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
    for (std::byte* const result : {static_cast<std::byte*>(nullptr), bytes_of(before)})
      update_part(sum, memory + skew, layout, 0, {bytes_of(summands), nullptr, result, layout.size()},
                  places);
    EXPECT_EQ(before, summands) << "round " << round;
    std::vector<std::int64_t> after(elements);
    pack(bytes_of(after), memory + skew, layout, 0, layout.size());
    for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(after[i], 2 * summands[i]) << "round " << round;
  }
}

class UpdateModePaths : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, UpdateModePaths, every_path(), path_name);

template <typename Word>
constexpr ElementType type_of = sizeof(Word) == 8 ? ElementType::int64 : ElementType::int32;

template <typename Word>
RmaOp add_of(Word const* summands, std::size_t count, RemoteAddress target) {
  return contiguous(ReduceOp::sum, type_of<Word>, summands, target, count * sizeof(Word));
}

template <typename Word>
RmaOp sum_of(std::vector<Word>& summands, RemoteAddress target, OpFlags flags) {
  RmaOp sum = add_of(summands.data(), summands.size(), target);
  sum.flags = flags;
  return sum;
}

/// Whether some of the memory of the kind shares its mode with memory of a previous kind, at any process.
bool has_modes_of_others(Rank const& rank, int kind) {
  for (int process = 0; process < rank.size(); ++process) {
    for (int before = 0; before < kind; ++before) {
      RemoteAddress const apart =
          (rank.published(process, kind) - rank.published(process, before)) % stripe_period;
      if (std::min(apart, stripe_period - apart) < Buffers::bytes + granule) return true;
    }
  }
  return false;
}

TEST_P(UpdateModePaths, OnlySingleElementUpdatesSwitchTheMode) {
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    constexpr std::size_t count = 300;
    std::vector<std::int64_t> ones(count, 1);
    for (int kind = 0; kind < 3; ++kind) {
      if (has_modes_of_others(rank, kind)) continue;
      RemoteAddress const mine = rank.published(rank.rank(), kind);
      RemoteAddress const theirs = rank.published(1 - rank.rank(), kind);
      // Null if the engine treats this host as another one.
      StripeTable const* const table = rank.peer(rank.rank()).stripes();
      Peer& peer = rank.peer(1 - rank.rank());
      RmaOp whole = add_of(ones.data(), 1, theirs);
      whole.flags = OpFlags::atomic;
      ASSERT_EQ(run(rank.engine(), peer, whole), Status::ok);
      ASSERT_EQ(run(rank.engine(), peer, sum_of(ones, theirs, OpFlags::atomic)), Status::ok);
      ASSERT_EQ(run(rank.engine(), peer, sum_of(ones, theirs, OpFlags::element_atomic)), Status::ok);
      ASSERT_EQ(run(rank.engine(), peer, add_of(ones.data(), count, theirs)), Status::ok);
      RmaOp kept = add_of(ones.data(), 1, theirs);
      kept.flags = kept.flags | OpFlags::keeps_arrays;
      ASSERT_EQ(run(rank.engine(), peer, kept), Status::ok);
      rank.barrier();
      EXPECT_FALSE(table != nullptr && table->modes.any_by_element(mine, mine + Buffers::bytes))
          << "kind " << kind;
      rank.barrier();
      ASSERT_EQ(run(rank.engine(), peer, add_of(ones.data(), 1, theirs)), Status::ok);
      rank.barrier();
      EXPECT_TRUE(table == nullptr || table->modes.is_by_element(mine)) << "kind " << kind;
      EXPECT_FALSE(table != nullptr && table->modes.any_by_element(mine + granule, mine + Buffers::bytes))
          << "kind " << kind;
      auto const* const sums = reinterpret_cast<std::int64_t const*>(buffers.kind(kind));
      EXPECT_EQ(sums[0], 6) << "kind " << kind;
      EXPECT_EQ(sums[count - 1], 3) << "kind " << kind;
    }
  });
}

/// An update of an array around a counter: all elements, every second one, or with a fetch.
RmaOp add_around(std::vector<std::int64_t>& ones, std::vector<std::int64_t>& before, RemoteAddress target,
                 int choice) {
  RmaOp add = sum_of(ones, target, OpFlags::element_atomic);
  static Dimension const every_second[] = {{512, 16}};
  if (choice == 1) {
    add.target_layout = Layout{8, every_second, {}};
    add.origin_layout = Layout::contiguous(512 * 8);
  } else if (choice == 2) {
    add.result = reinterpret_cast<std::byte*>(before.data());
    add.result_layout = add.target_layout;
  }
  return add;
}

TEST_P(UpdateModePaths, CounterWithinArrayIsExact) {
  constexpr int rounds = 60;
  constexpr std::size_t count = 1024;
  constexpr std::size_t counter = 500;  // even, so that updates of every second element include it
  run_job(3, configure, [](Rank& rank) {
    Buffers buffers(rank);
    std::vector<std::int64_t> ones(count, 1);
    std::vector<std::int64_t> before(count);
    for (int kind = 0; kind < 3; ++kind) {
      RemoteAddress const array = rank.published(0, kind);
      std::int64_t last = -1;
      for (int round = 0; round < rounds; ++round) {
        std::int64_t old = 0;
        RmaOp raise = add_of(ones.data(), 1, array + 8 * counter);
        raise.result = reinterpret_cast<std::byte*>(&old);
        ASSERT_EQ(run(rank.engine(), rank.peer(0), raise), Status::ok);
        EXPECT_GT(old, last) << "kind " << kind;
        last = old;
        ASSERT_EQ(run(rank.engine(), rank.peer(0), add_around(ones, before, array, round % 3)), Status::ok);
      }
      rank.barrier();
      if (rank.rank() != 0) continue;
      auto const* const sums = reinterpret_cast<std::int64_t const*>(buffers.kind(kind));
      for (std::size_t i = 0; i < count; ++i) {
        std::int64_t const updates = i % 2 == 0 ? rounds : rounds / 3 * 2;
        std::int64_t const raised = i == counter ? rounds : 0;
        ASSERT_EQ(sums[i], 3 * (updates + raised)) << "kind " << kind << " element " << i;
      }
    }
  });
}

/// The sums that all processes add to the memory of process 0.
struct Expected {
  std::atomic<std::int64_t> sums[3][Buffers::bytes / 4];
};

/// One process's random updates of a part of the memory of process 0.
template <typename Word>
class Contestant {
 public:
  static constexpr std::size_t count = 1300;  ///< elements; several messages, several granules

  Contestant(Rank& rank, Expected& expected, unsigned seed)
      : rank_(rank), expected_(expected), random_(seed + static_cast<unsigned>(rank.rank())) {}

  /// Updates elements from `first` on, with arrays only until round `singles_from`.
  void update(int kind, std::size_t first, int rounds, int singles_from) {
    for (int round = 0; round < rounds; ++round) {
      unsigned const choice = random_() % 8;
      if (choice >= 4 && round >= singles_from) {
        add_single(kind, first + random_() % count);
      } else {
        add_array(kind, first, choice);
      }
    }
  }

 private:
  RemoteAddress address(int kind, std::size_t element) const {
    return rank_.published(0, kind) + element * sizeof(Word);
  }

  void add_single(int kind, std::size_t element) {
    for (int i = 0; i < 20; ++i, element = element % 2 == 0 ? element + 1 : element - 1) {
      Word const summand = static_cast<Word>(random_() % 5);
      Word before{};
      RmaOp add = add_of(&summand, 1, address(kind, element));
      if (i % 2 == 0) add.result = reinterpret_cast<std::byte*>(&before);
      if (random_() % 2 == 0) add.flags = add.flags | OpFlags::keeps_arrays;
      ASSERT_EQ(run(rank_.engine(), rank_.peer(0), add), Status::ok);
      expected_.sums[kind][element] += summand;
    }
  }

  void add_array(int kind, std::size_t first, unsigned choice) {
    std::vector<Word> summands(count);
    for (Word& summand : summands) summand = static_cast<Word>(random_() % 5);
    std::size_t stride = 1;
    if (choice % 4 == 0) {
      ASSERT_EQ(run(rank_.engine(), rank_.peer(0), add_of(summands.data(), count, address(kind, first))),
                Status::ok);
    } else {
      RmaOp sum =
          sum_of(summands, address(kind, first), choice % 2 == 0 ? OpFlags::atomic : OpFlags::element_atomic);
      Dimension const every_second[] = {{count / 2, 2 * sizeof(Word)}};
      if (choice == 3) {
        stride = 2;
        sum.origin_layout = Layout::contiguous(count / 2 * sizeof(Word));
        sum.target_layout = Layout{sizeof(Word), every_second, {}};
      }
      ASSERT_EQ(run(rank_.engine(), rank_.peer(0), sum), Status::ok);
    }
    for (std::size_t i = 0; i < count / stride; ++i) expected_.sums[kind][first + i * stride] += summands[i];
  }

  Rank& rank_;
  Expected& expected_;
  std::mt19937 random_;
};

/// The processes begin with arrays, and switch to single elements at different times, granule by granule.
template <typename Word>
void contend(Rank& rank, Expected& expected, unsigned seed) {
  Buffers buffers(rank);
  Contestant<Word> contestant(rank, expected, seed);
  int const share = std::min(test::slowness * test::shortened(9), 16);  // several steps remain
  std::size_t const step = 2 * granule / sizeof(Word) * static_cast<std::size_t>(share);
  constexpr std::size_t last = Buffers::bytes / sizeof(Word) - Contestant<Word>::count;
  for (std::size_t first = 0; first < last; first += step) {
    for (int kind = 0; kind < 3; ++kind) {
      rank.barrier();
      contestant.update(kind, first, 6, rank.rank() * 3);
      // While the others update it.
      if (rank.rank() == 0)
        rank.engine().exposures.update_by_elements(buffers.kind(kind) + first * sizeof(Word), granule / 2);
      contestant.update(kind, first, 6, 0);
    }
  }
  rank.barrier();
  if (rank.rank() != 0) return;
  for (int kind = 0; kind < 3; ++kind) {
    auto const* const sums = reinterpret_cast<Word const*>(buffers.kind(kind));
    for (std::size_t i = 0; i < Buffers::bytes / sizeof(Word); ++i)
      ASSERT_EQ(static_cast<std::int64_t>(sums[i]), expected.sums[kind][i])
          << "kind " << kind << " element " << i << " MPIX_TEST_SEED=" << seed;
  }
}

template <typename Word>
void run_contest(test::Configure const& configure) {
  char const* const given = std::getenv("MPIX_TEST_SEED");
  unsigned const seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
  std::printf("MPIX_TEST_SEED=%u\n", seed);
  std::fflush(stdout);
  test::Shared<Expected> expected;
  run_job(3, configure, [&](Rank& rank) { contend<Word>(rank, *expected, seed); });
}

TEST_P(UpdateModePaths, SingleUpdatesWithinArraysOfLongAreExact) { run_contest<std::int64_t>(configure); }
TEST_P(UpdateModePaths, SingleUpdatesWithinArraysOfIntAreExact) { run_contest<std::int32_t>(configure); }

/// An accumulate of integers goes through the kernel as long as the target's memory is updated by arrays.
TEST(UpdateModesOfPaths, CrossMemoryServesIntegersUntilSingleElementsAreUpdated) {
  auto const configure = [](mpix_engine_config& config) {
    config.protocols = MPIX_ENGINE_PROTOCOL_CROSS_MEMORY;
  };
  run_job(2, configure, [](Rank& rank) {
    Buffers buffers(rank);
    if (rank.rank() == 0) {
      std::vector<std::int64_t> ones(100, 1);
      auto const sum = sum_of(ones, rank.published(1, 2), OpFlags::element_atomic);
      auto const through = [&](Protocol protocol) {
        return rank.engine().traffic.statistics().traffic.operations[static_cast<std::size_t>(protocol)];
      };
      ASSERT_EQ(run(rank.engine(), rank.peer(1), sum), Status::ok);
      EXPECT_EQ(through(Protocol::cross_memory), 1u);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), add_of(ones.data(), 1, rank.published(1, 2) + 80)),
                Status::ok);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), sum), Status::ok);
      EXPECT_EQ(through(Protocol::cross_memory), 1u);
      EXPECT_EQ(through(Protocol::message), 2u);
    }
    rank.barrier();
    auto const* const sums = reinterpret_cast<std::int64_t const*>(buffers.kind(2));
    EXPECT_EQ(sums[10], rank.rank() == 1 ? 3 : 0);
    EXPECT_EQ(sums[99], rank.rank() == 1 ? 2 : 0);
  });
}

}  // namespace
}  // namespace mpixrma::engine
