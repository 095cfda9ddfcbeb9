/// Random updates against a model on every path: all operations and types, all kinds of layouts on three
/// sides, fetching or not, atomic or not, several in flight at once. Also updates of the same elements by
/// several processes: none is lost, and each value is fetched once.
///
/// MPIX_TEST_UPDATES=N: about N updates over all paths instead of 62,500, or a million in the long run.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <random>

#include "tests/support/child.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/full_length.hpp"
#include "tests/support/random_layout.hpp"
#include "tests/support/update_model.hpp"

namespace mpixrma::engine {
namespace {

constexpr int ranks = 3;
constexpr int path_cases = 7;
/// Elements of one type that one process updates in one piece of another process's memory.
constexpr std::size_t area_bytes = 1280;
static_assert(area_bytes * static_cast<std::size_t>(ElementType::count_) * ranks <= Buffers::bytes);

class Updates : public EnginePath {
 protected:
  static void configure(mpix_engine_config& config, int rank) {
    EnginePath::configure(config, rank);
    config.fragment_bytes = 512;  // most updates of more than a few elements need several messages
    config.credit_bytes = 4096;
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, Updates, every_path(), path_name);

std::uint64_t updates_per_rank() {
  char const* const given = std::getenv("MPIX_TEST_UPDATES");
  std::uint64_t const all = given != nullptr ? std::strtoull(given, nullptr, 10)
                                             : 1000000U / static_cast<unsigned>(test::shortened(16));
  return all / (path_cases * ranks) / static_cast<std::uint64_t>(test::slowness);
}

/// The elements of one type in memory of one process, and their expected values.
template <typename T>
struct Area {
  RemoteAddress address = 0;
  std::vector<std::byte> model = std::vector<std::byte>(area_bytes);
};

/// Values stay exact, because the factors of products are powers of two.
template <typename T>
T operand_for(ReduceOp operation, std::mt19937_64& random) {
  if constexpr (test::is_real<T> || test::is_complex<T>) {
    static constexpr float factors[] = {1, -1, 2, 0.5F};
    if (operation == ReduceOp::prod) return static_cast<T>(factors[random() % 4]);
  }
  return test::random_element<T>(random);
}

/// The memory of one side of an update in this process.
struct SideBuffer {
  explicit SideBuffer(test::RandomLayout const& made) : layout(made), bytes(made.span_bytes()) {}
  std::byte* base() { return bytes.data() + layout.base(); }

  test::RandomLayout layout;
  std::vector<std::byte> bytes;
};

/// An update in flight, and its expected fetched values.
struct Flight {
  SideBuffer origin;
  SideBuffer operand2;
  SideBuffer result;
  std::function<void(Flight&)> check;
};

class Origin {
 public:
  Origin(Rank& rank, std::uint64_t seed) : rank_(rank), random_(seed + static_cast<unsigned>(rank.rank())) {}

  /// A few updates of one type's elements, waited for together.
  template <typename Case>
  void run_batch() {
    using T = typename Case::T;
    constexpr ElementType type = Case::type;
    int const to = static_cast<int>(random_() % ranks);
    int const kind = static_cast<int>(random_() % 3);
    auto& area = area_of<T>(type, to, kind);
    for (auto count = 1 + random_() % 6; count != 0; --count) issue_one<T>(type, rank_.peer(to), area);
    rank_.engine().order.complete(rank_.peer(to), EngineOrder::newest(rank_.peer(to)));
    ASSERT_EQ(rank_.engine().failures.take(rank_.peer(to), 0), Status::ok);
    for (Flight& flight : flights_) flight.check(flight);
    flights_.clear();
    std::vector<std::byte> got(area_bytes);
    ASSERT_EQ(
        run(rank_.engine(), rank_.peer(to), contiguous(OpKind::get, got.data(), area.address, area_bytes)),
        Status::ok);
    for (std::size_t at = 0; at + sizeof(T) <= area_bytes; at += sizeof(T)) {
      ASSERT_TRUE(test::same(test::load<T>(got.data() + at), test::load<T>(area.model.data() + at)))
          << "type " << static_cast<int>(type) << " byte " << at << " kind " << kind << " target " << to;
    }
  }
  std::uint64_t issued() const { return issued_; }
  std::uint64_t any() { return random_(); }

 private:
  template <typename T>
  Area<T>& area_of(ElementType type, int to, int kind) {
    static std::map<std::array<int, 3>, Area<T>> areas;  // of this process, which is forked for the test
    auto& area = areas[{static_cast<int>(type), to, kind}];
    auto const place =
        static_cast<std::size_t>(rank_.rank()) * static_cast<std::size_t>(ElementType::count_) +
        static_cast<std::size_t>(type);
    area.address = (rank_.published(to, kind) + 63) / 64 * 64 + place * area_bytes;
    return area;
  }

  test::RandomLayout layout_of(std::size_t element) {
    for (;;) {
      auto const large = random_() % 4 == 0;
      test::RandomLayout made =
          random_() % 3 == 0
              ? test::RandomLayout::contiguous((1 + random_() % (large ? area_bytes / element : 4)) * element)
              : test::RandomLayout(random_, large ? 2000 : 300, element);
      if (made.span_bytes() <= area_bytes && made.view().size() != 0) return made;
    }
  }

  template <typename T>
  void issue_one(ElementType type, Peer& peer, Area<T>& area) {
    ReduceOp operation{};
    do operation = static_cast<ReduceOp>(random_() % static_cast<unsigned>(ReduceOp::count_));
    while (!is_defined(operation, type));
    std::array<test::RandomLayout, 3> layouts{layout_of(sizeof(T)), layout_of(sizeof(T)),
                                              layout_of(sizeof(T))};
    std::size_t bytes = SIZE_MAX;
    for (auto const& layout : layouts) bytes = std::min(bytes, layout.view().size());
    for (auto& layout : layouts)
      if (layout.view().size() != bytes) layout.trim(bytes);
    flights_.push_back({SideBuffer(layouts[1]), SideBuffer(layouts[1]), SideBuffer(layouts[2]), nullptr});
    Flight& flight = flights_.back();
    T const scale = test::random_element<T>(random_);
    RmaOp update = update_with(operation, type);
    static constexpr OpFlags choices[] = {OpFlags::none, OpFlags::element_atomic, OpFlags::atomic};
    update.flags = choices[random_() % 3] | OpFlags::overlap_ordered;
    bool const fetch = random_() % 2 == 0;
    bool const scaled = operation == ReduceOp::sum && random_() % 3 == 0;
    update.origin = flight.origin.base();
    update.operand2 = flight.operand2.base();
    update.origin_layout = flight.origin.layout.view();
    if (fetch) update.result = flight.result.base();
    update.result_layout = flight.result.layout.view();
    update.scale = scaled ? &scale : nullptr;
    std::size_t const room = area_bytes - layouts[0].span_bytes();
    std::size_t const begin = layouts[0].base() + random_() % (room / sizeof(T) + 1) * sizeof(T);
    update.target = area.address + begin;
    update.target_layout = layouts[0].view();
    model<T>(update, layouts[0], begin, area, flight);
    ASSERT_EQ(rank_.engine().issue(peer, update).status, Status::ok);
    ++issued_;
  }

  /// Fills in the operands, and updates the model.
  template <typename T>
  void model(RmaOp const& update, test::RandomLayout const& target, std::size_t begin, Area<T>& area,
             Flight& flight) {
    auto const there = test::offsets_of(target.view());
    auto const here = test::offsets_of(flight.origin.layout.view());
    T const* const scale = static_cast<T const*>(update.scale);
    std::deque<T> fetched;
    for (std::size_t i = 0; i < there.size(); i += sizeof(T)) {
      T const a = operand_for<T>(update.reduce_op, random_);
      T const b = operand_for<T>(update.reduce_op, random_);
      test::store(flight.origin.base() + here[i], a);
      test::store(flight.operand2.base() + here[i], b);
      std::byte* const element = area.model.data() + begin + there[i];
      fetched.push_back(test::load<T>(element));
      test::store(element, test::expected_element(update.reduce_op, fetched.back(), a, b, scale));
    }
    bool const fetch = update.result != nullptr;
    flight.check = [fetched, fetch, operation = update.reduce_op, type = update.type](Flight& done) {
      auto const offsets = test::offsets_of(done.result.layout.view());
      for (std::size_t i = 0; fetch && i < fetched.size(); ++i) {
        ASSERT_TRUE(test::same(test::load<T>(done.result.base() + offsets[i * sizeof(T)]), T(fetched[i])))
            << "fetched element " << i << " of " << fetched.size() << " type " << static_cast<int>(type)
            << " operation " << static_cast<int>(operation);
      }
    };
  }

  Rank& rank_;
  std::mt19937_64 random_;
  std::deque<Flight> flights_;
  std::uint64_t issued_ = 0;
};

template <typename... Cases>
void run_any(Origin& origin, ::testing::Types<Cases...>*) {
  using Batch = void (Origin::*)();
  static constexpr Batch batches[] = {&Origin::run_batch<Cases>...};
  (origin.*batches[origin.any() % std::size(batches)])();
}

TEST_P(Updates, RandomUpdatesMatchModelInIssueOrder) {
  auto const seed = test::seed();
  std::fflush(nullptr);
  run_job(ranks, configure, [seed](Rank& rank) {
    Buffers buffers(rank);
    Origin origin(rank, seed);
    while (origin.issued() < updates_per_rank() && !::testing::Test::HasFailure())
      run_any(origin, static_cast<test::ElementCases*>(nullptr));
    EXPECT_FALSE(::testing::Test::HasFailure()) << "MPIX_TEST_SEED=" << seed;
    rank.barrier();
  });
}

/// The sums of the values that all processes have fetched, by kind of memory, type and element.
struct Fetched {
  std::atomic<std::int64_t> sums[3][2][600];
};

template <typename T>
void fetch_and_add_everywhere(Rank& rank, ElementType type, std::size_t at, Fetched& fetched, int rounds) {
  constexpr std::size_t count = 600;
  Dimension const every_second[] = {{count, 2 * sizeof(T)}};
  std::vector<T> const ones(2 * count, T(1));
  for (int round = 0; round < rounds; ++round) {
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<T> before(count);
      RmaOp add = contiguous(ReduceOp::sum, type, ones.data(), rank.published(0, kind) + at,
                             count * sizeof(T), before.data());
      add.flags = round % 2 == 0 ? OpFlags::atomic : OpFlags::element_atomic;
      add.origin_layout = {sizeof(T), every_second, {}};
      ASSERT_EQ(run(rank.engine(), rank.peer(0), add), Status::ok);
      for (std::size_t i = 0; i < count; ++i)
        fetched.sums[kind][at != 0][i] += static_cast<std::int64_t>(before[i]);
    }
  }
}

TEST_P(Updates, ContendedUpdatesFetchEachValueOnce) {
  constexpr int rounds = 40;
  constexpr std::int64_t all = rounds * ranks;
  test::Shared<Fetched> fetched;
  run_job(ranks, configure, [&](Rank& rank) {
    Buffers buffers(rank);
    fetch_and_add_everywhere<double>(rank, ElementType::float64, 0, *fetched, rounds);
    fetch_and_add_everywhere<std::int64_t>(rank, ElementType::int64, 8192, *fetched, rounds);
    rank.barrier();
    if (rank.rank() == 0) {
      for (int kind = 0; kind < 3; ++kind) {
        for (std::size_t i = 0; i < 600; ++i) {
          ASSERT_EQ(reinterpret_cast<double const*>(buffers.kind(kind))[i], all);
          ASSERT_EQ(reinterpret_cast<std::int64_t const*>(buffers.kind(kind) + 8192)[i], all);
          for (auto const& sums : fetched->sums[kind]) ASSERT_EQ(sums[i], all * (all - 1) / 2) << i;
        }
      }
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine
