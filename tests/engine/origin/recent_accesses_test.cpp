#include "engine/origin/recent_accesses.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace mpixrma::engine {
namespace {

constexpr ExposureId none = ExposureId::none;

TEST(RecentAccesses, ReportsNoConflictBeforeFirstOperation) {
  RecentAccesses const accesses;
  EXPECT_EQ(accesses.newest_conflict({none, 0, 100, true}), 0u);
}

TEST(RecentAccesses, TwoReadsDoNotConflict) {
  RecentAccesses accesses;
  accesses.note({none, 0, 100, false}, 1);
  EXPECT_EQ(accesses.newest_conflict({none, 50, 60, false}), 0u);
  EXPECT_EQ(accesses.newest_conflict({none, 50, 60, true}), 1u);
}

TEST(RecentAccesses, NeighboursAndOtherExposuresDoNotConflict) {
  RecentAccesses accesses;
  accesses.note({ExposureId{7}, 100, 200, true}, 1);
  EXPECT_EQ(accesses.newest_conflict({ExposureId{7}, 0, 100, true}), 0u);
  EXPECT_EQ(accesses.newest_conflict({ExposureId{7}, 200, 300, true}), 0u);
  EXPECT_EQ(accesses.newest_conflict({ExposureId{8}, 100, 200, true}), 0u);
  EXPECT_EQ(accesses.newest_conflict({ExposureId{7}, 199, 200, false}), 1u);
}

/// Compared with a list of all accesses: no conflict is missed, and among the newest operations none is
/// invented.
TEST(RecentAccesses, MatchesCompleteList) {
  unsigned const seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::uint64_t remembered = 32;
  RecentAccesses accesses;
  std::vector<TargetAccess> all;
  for (std::uint64_t number = 1; number <= 2000; ++number) {
    RemoteAddress const begin = random() % 1000;
    TargetAccess const access{ExposureId{random() % 2}, begin, begin + 1 + random() % 20, random() % 2 == 0};
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < all.size(); ++i) {
      if (all[i].conflicts_with(access)) expected = i + 1;
    }
    std::uint64_t const forgotten = number > remembered + 1 ? number - 1 - remembered : 0;
    ASSERT_EQ(accesses.newest_conflict(access), std::max(expected, forgotten));
    accesses.note(access, number);
    all.push_back(access);
  }
}

}  // namespace
}  // namespace mpixrma::engine
