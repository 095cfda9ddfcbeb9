/// The staging method of large requests: the faster one is chosen.
#include "engine/origin/staging_method.hpp"

#include <gtest/gtest.h>

namespace mpixrma::engine {
namespace {

using std::chrono::nanoseconds;

/// The times of a request by each method.
struct Costs {
  nanoseconds cached;
  nanoseconds past_caches;
};

constexpr nanoseconds quick{13'000};
constexpr nanoseconds slow{160'000};
constexpr nanoseconds steady{32'000};
constexpr Costs near{quick, steady};
constexpr Costs far{slow, steady};
constexpr std::size_t quarter = 256 * 1024;
constexpr int many = 5120;
constexpr int few = many / 50;  // requests that measure the other method

/// Returns how many of `requests` requests went past the caches.
int past_caches(StagingPace& pace, int requests, Costs const& costs, std::size_t bytes = quarter,
                bool fetches = false) {
  int count = 0;
  for (int i = 0; i < requests; ++i) {
    Staging const chosen = pace.choose(bytes, fetches);
    bool const past = chosen == Staging::past_caches;
    pace.note(bytes, fetches, chosen, past ? costs.past_caches : costs.cached);
    count += past ? 1 : 0;
  }
  return count;
}

TEST(StagingPace, SelectsFasterMethod) {
  StagingPace pace;
  EXPECT_LE(past_caches(pace, many, near), few);
  StagingPace other;
  EXPECT_GE(past_caches(other, many, far), many - few);
}

TEST(StagingPace, DetectsMigrationOfProcesses) {
  StagingPace pace;
  for (int round = 0; round < 3; ++round) {
    (void)past_caches(pace, 512, near);
    EXPECT_LE(past_caches(pace, many, near), few) << round;
    (void)past_caches(pace, 512, far);
    EXPECT_GE(past_caches(pace, many, far), many - few) << round;
  }
}

TEST(StagingPace, IgnoresFirstMeasurements) {
  StagingPace pace;
  (void)past_caches(pace, 2, {20 * slow, 20 * slow});
  EXPECT_LE(past_caches(pace, many, near), few);
}

TEST(StagingPace, IgnoresSingleLateMeasurement) {
  StagingPace pace;
  (void)past_caches(pace, 100, near);
  (void)past_caches(pace, 1, {100 * slow, 100 * slow});
  EXPECT_LE(past_caches(pace, many, near), few);
}

TEST(StagingPace, MeasuresAgainIfFirstTrialsDidNotComplete) {
  StagingPace pace;
  for (int i = 0; i < 8; ++i) (void)pace.choose(quarter, false);  // none of which completed
  EXPECT_GE(past_caches(pace, many, far), many - few);
}

TEST(StagingPace, MeasuresSizesAndFetchesSeparately) {
  StagingPace pace;
  for (bool const fetches : {false, true}) {
    for (std::size_t bytes = StagingPace::min_bytes; bytes <= std::size_t{1} << 30; bytes *= 16) {
      bool const is_near = fetches == (bytes > quarter);
      int const count = past_caches(pace, many, is_near ? near : far, bytes, fetches);
      EXPECT_TRUE(is_near ? count <= many / 2 : count >= many / 2) << bytes;
    }
  }
}

}  // namespace
}  // namespace mpixrma::engine
