/// The index of a published table: the number of loads of a look-up.
#include "engine/memory/range_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "engine/memory/published_tables.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::engine {
namespace {

std::uint64_t load_count = 0;

/// The part of std::atomic that the index uses. Counts the loads.
template <typename T>
class CountedAtomic {
 public:
  T load(std::memory_order order) const noexcept {
    ++load_count;
    return value_.load(order);
  }
  void store(T value, std::memory_order order) noexcept { value_.store(value, order); }

 private:
  std::atomic<T> value_{};
};

/// An index as large as SegmentIndex, with counted atomics.
template <typename Index>
struct Counted;
template <std::uint32_t slots, unsigned levels>
struct Counted<BasicRangeIndex<std::atomic, slots, levels>> {
  static constexpr std::uint32_t capacity = slots;
  using Index = BasicRangeIndex<CountedAtomic, slots, levels>;
  using Writer = BasicRangeIndexWriter<CountedAtomic, slots, levels>;
};
using CountedIndex = Counted<SegmentIndex>;

constexpr std::uint64_t length = 16;
RemoteAddress base_of(std::uint32_t place) { return 0x10000 + RemoteAddress{place} * 2 * length; }

/// Returns the average number of loads of a look-up, over all ranges and all gaps behind them; `bases` is by
/// slot.
double loads_of_lookups(CountedIndex::Index const& index, CountedIndex::Index::Slot const* slots,
                        std::vector<RemoteAddress> const& bases) {
  auto const end = static_cast<std::uint32_t>(bases.size());
  load_count = 0;
  for (std::uint32_t slot = 0; slot < end; ++slot) {
    PublishedRange found;
    EXPECT_EQ(index.find(slots, end, bases[slot] + length / 2, &found), slot);
    EXPECT_EQ(index.find(slots, end, bases[slot] + length, &found), CountedIndex::capacity);
  }
  return static_cast<double>(load_count) / (2 * end);
}

TEST(RangeIndex, ReadsFewSlotsOfAHundredThousand) {
  constexpr std::uint32_t most = 100000;
  std::vector<std::uint32_t> places(most);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), std::mt19937_64(test::seed()));
  auto const slots = std::make_unique<CountedIndex::Index::Slot[]>(most);
  auto const index = std::make_unique<CountedIndex::Index>();
  CountedIndex::Writer writer;
  writer.open(*index);
  std::vector<RemoteAddress> bases;
  for (std::uint32_t const place : places) {
    auto const slot = static_cast<std::uint32_t>(bases.size());
    bases.push_back(base_of(place));
    writer.begin_change();
    slots[slot].publish({bases[slot], length, 0, 1});
    writer.insert(slot, bases[slot]);
    writer.finish_change();
    if (bases.size() != most / 1000 && bases.size() != most / 10 && bases.size() != most) continue;
    double const loads = loads_of_lookups(*index, slots.get(), bases);
    std::printf("%zu ranges: %.1f loads\n", bases.size(), loads);
    // A search reads two words per visited slot; reading all slots takes more loads than there are slots.
    ASSERT_LT(loads, 150) << bases.size();
  }
}

}  // namespace
}  // namespace mpixrma::engine
