#include <algorithm>
#include <numeric>

#include "tests/windows/random/conflicts.hpp"
#include "tests/windows/random/operations.hpp"

namespace mpixrma::random_windows {

namespace {

/// Draws windows, epochs and the calls in them.
class Planner {
 public:
  Planner(Shapes const& shapes, Features const& features, int ranks, std::uint64_t seed)
      : random_(seed), features_(features), ranks_(ranks), operations_(shapes, features, plan_, random_) {
    plan_.seed = seed;
  }
  Plan run(std::uint64_t operations);

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }
  bool chance(Feature feature, unsigned percent) { return chance(percent) && features_.has(feature); }

  void add_memory();
  void add_window(int memory, bool on_other);
  Flavour draw_flavour(bool on_other);
  void add_episode();
  void add_stores();
  Epoch draw_epoch(int window);
  void fill_segment(Episode& episode, std::size_t segment, int rank);
  void open_locks(Epoch const& epoch, bool alone, int rank, std::vector<Step>& steps,
                  std::vector<Step>& unlocks, std::vector<int>& targets);
  std::vector<int> some_ranks(int memory);

  Plan plan_;
  Random random_;
  Features const& features_;
  int ranks_;
  Operations operations_;
};

void Planner::add_memory() {
  static constexpr std::size_t sizes[] = {1920, 3840, 3840, 7680, 7680, 49152, 122880};
  MemoryPlan memory;
  // Few elements, so that many operations conflict; and more than one message carries.
  static constexpr std::size_t elements[] = {24, 24, 24, 240, 3000};
  memory.layout = {ranks_, sizes[below(std::size(sizes) - (ranks_ > 4 ? 1 : 0))],
                   elements[below(std::size(elements))]};
  for (int rank = 0; rank < ranks_; ++rank)
    memory.present.push_back(rank == 0 || !chance(Feature::holes, 10));
  plan_.memories.push_back(std::move(memory));
}

Flavour Planner::draw_flavour(bool on_other) {
  static constexpr std::pair<Feature, Flavour> flavours[] = {{Feature::create, Flavour::create},
                                                             {Feature::dynamic, Flavour::dynamic},
                                                             {Feature::allocate, Flavour::allocate},
                                                             {Feature::shared, Flavour::shared}};
  for (int attempts = 0; attempts < 100; ++attempts) {
    auto const& [feature, flavour] = flavours[below(on_other ? 2 : 4)];
    if (features_.has(feature)) return flavour;
  }
  return Flavour::allocate;
}

void Planner::add_window(int memory, bool on_other) {
  WindowPlan window;
  window.flavour = draw_flavour(on_other);
  window.memory = memory;
  window.on_other = on_other;
  window.reversed = chance(Feature::reversed, 30);
  window.alloc_mem = chance(40);
  window.pieces = chance(50);
  window.unordered = chance(Feature::info, 20);
  window.same_op = chance(Feature::info, 10);
  window.no_locks =
      (features_.has(Feature::fence) || features_.has(Feature::pscw)) && chance(Feature::info, 15);
  bool const notified = chance(Feature::notify, 60);
  for (int rank = 0; rank < ranks_ && notified; ++rank) window.counters.push_back(static_cast<int>(below(4)));
  static constexpr int units[] = {1, 1, 2, 4, 8, 12, 24};
  bool const alike = chance(50);
  for (int rank = 0; rank < ranks_; ++rank) {
    bool const one = window.flavour == Flavour::dynamic || !features_.has(Feature::units);
    window.units.push_back(one ? 1 : alike && rank != 0 ? window.units[0] : units[below(std::size(units))]);
  }
  plan_.windows.push_back(std::move(window));
}

std::vector<int> Planner::some_ranks(int memory) {
  std::vector<int> ranks;
  bool const all = chance(30);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (plan_.memories[static_cast<std::size_t>(memory)].present[static_cast<std::size_t>(rank)] &&
        (all || chance(50)))
      ranks.push_back(rank);
  }
  return ranks;
}

Epoch Planner::draw_epoch(int window) {
  static constexpr Feature needs[] = {Feature::fence, Feature::pscw, Feature::passive, Feature::passive};
  WindowPlan const& of = plan_.windows[static_cast<std::size_t>(window)];
  Epoch epoch;
  epoch.window = window;
  bool suits = false;
  for (int attempts = 0; attempts < 100 && !suits; ++attempts) {
    epoch.kind = static_cast<Epoch::Kind>(below(4));
    suits = features_.has(needs[epoch.kind]) && (epoch.kind < Epoch::lock_all || !of.no_locks);
  }
  epoch.asserts = chance(Feature::asserts, 50);
  epoch.test = chance(50);
  if (epoch.kind == Epoch::pscw) {
    for (int origin = 0; origin < ranks_; ++origin) epoch.targets.push_back(some_ranks(of.memory));
  }
  return epoch;
}

/// Adds the lock calls of one rank at the beginning of its segment. If any rank may lock exclusively, no rank
/// waits for a second lock of a window while it holds one, which could deadlock. Nor does a rank that holds
/// locks of other windows call MPI_Win_lock_all, whose locks may be acquired later, in the operations' order.
void Planner::open_locks(Epoch const& epoch, bool alone, int rank, std::vector<Step>& steps,
                         std::vector<Step>& unlocks, std::vector<int>& targets) {
  bool const exclusive = !epoch.test && features_.has(Feature::exclusive);
  Step step;
  step.window = epoch.window;
  step.needed = true;
  int const memory = plan_.windows[static_cast<std::size_t>(epoch.window)].memory;
  if (chance(30) && (alone || !exclusive)) {
    step.call = Call::lock_all;
    step.nocheck = epoch.asserts && !exclusive;
    steps.push_back(step);
    step.call = Call::unlock_all;
    unlocks.push_back(step);
    for (int target = 0; target < ranks_; ++target) {
      if (plan_.memories[static_cast<std::size_t>(memory)].present[static_cast<std::size_t>(target)])
        targets.push_back(target);
    }
    return;
  }
  targets = some_ranks(memory);
  if (exclusive && targets.size() > 1) targets = {targets[static_cast<std::size_t>(rank) % targets.size()]};
  for (int const target : targets) {
    step.call = Call::lock;
    step.target = target;
    step.exclusive = exclusive && chance(50);
    step.nocheck = epoch.asserts && !exclusive;
    steps.push_back(step);
    step.call = Call::unlock;
    unlocks.push_back(step);
  }
}

void Planner::fill_segment(Episode& episode, std::size_t segment, int rank) {
  auto& steps = episode.steps[segment][static_cast<std::size_t>(rank)];
  std::vector<Step> unlocks;
  std::vector<Access> accesses;
  bool const alone = std::ranges::count(episode.epochs, Epoch::locks, &Epoch::kind) == 1;
  for (Epoch const& epoch : episode.epochs) {
    Access access{epoch.window, rank, epoch.kind >= Epoch::lock_all, {}};
    if (epoch.kind == Epoch::locks) {
      open_locks(epoch, alone, rank, steps, unlocks, access.targets);
    } else if (epoch.kind == Epoch::pscw) {
      access.targets = epoch.targets[static_cast<std::size_t>(rank)];
    } else {
      int const memory = plan_.windows[static_cast<std::size_t>(epoch.window)].memory;
      for (int target = 0; target < ranks_; ++target) {
        if (plan_.memories[static_cast<std::size_t>(memory)].present[static_cast<std::size_t>(target)])
          access.targets.push_back(target);
      }
    }
    if (!access.targets.empty()) accesses.push_back(std::move(access));
    if (epoch.kind == Epoch::fence) operations_.conflicts().close(epoch.window, rank);
  }
  auto const count = accesses.empty() ? 0 : below(chance(80) ? 12 : 60);
  for (std::uint64_t i = 0; i < count; ++i)
    operations_.add(accesses[below(accesses.size())], accesses, steps);
  std::shuffle(unlocks.begin(), unlocks.end(), random_);
  for (Step const& unlock : unlocks) {
    operations_.conflicts().flush(unlock.window, rank, unlock.call == Call::unlock ? unlock.target : -1);
    steps.push_back(unlock);
  }
}

/// Owners, and ranks that share their memory, write while no epoch is open.
void Planner::add_stores() {
  auto const window = static_cast<int>(below(plan_.windows.size()));
  Episode episode;
  episode.steps.emplace_back(static_cast<std::size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank) {
    for (std::uint64_t i = below(4); i > 0; --i)
      operations_.add_store(window, rank, episode.steps[0][static_cast<std::size_t>(rank)]);
  }
  plan_.episodes.push_back(std::move(episode));
}

void Planner::add_episode() {
  Episode episode;
  std::vector<int> order(plan_.windows.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<bool> taken(plan_.memories.size());
  std::size_t const most = chance(60) ? 1 : 1 + below(3);
  for (int const window : order) {
    auto const memory = static_cast<std::size_t>(plan_.windows[static_cast<std::size_t>(window)].memory);
    if (taken[memory] || episode.epochs.size() == most) continue;
    taken[memory] = true;
    episode.epochs.push_back(draw_epoch(window));
  }
  // All ranks take locks in the same order.
  std::sort(episode.epochs.begin(), episode.epochs.end(),
            [](Epoch const& a, Epoch const& b) { return a.window < b.window; });
  std::size_t const segments = 1 + below(3);
  for (std::size_t segment = 0; segment < segments; ++segment) {
    episode.steps.emplace_back(static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) fill_segment(episode, segment, rank);
  }
  for (Epoch const& epoch : episode.epochs) {
    for (int rank = 0; rank < ranks_; ++rank) operations_.conflicts().close(epoch.window, rank);
  }
  plan_.episodes.push_back(std::move(episode));
}

Plan Planner::run(std::uint64_t operations) {
  std::uint64_t const memories = 1 + below(3);
  for (std::uint64_t i = 0; i < memories; ++i) {
    add_memory();
    add_window(static_cast<int>(i), false);
    if (chance(Feature::overlap, 25) && (features_.has(Feature::create) || features_.has(Feature::dynamic)))
      add_window(static_cast<int>(i), true);
  }
  for (int tries = 0; plan_.operations < operations && tries < 10000; ++tries) {
    if (chance(Feature::stores, 15)) add_stores();
    add_episode();
  }
  return std::move(plan_);
}

}  // namespace

Plan make_plan(Shapes const& shapes, Features const& features, int ranks, std::uint64_t operations,
               std::uint64_t seed) {
  return Planner(shapes, features, ranks, seed).run(operations);
}

}  // namespace mpixrma::random_windows
