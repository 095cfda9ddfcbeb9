/// Which way large requests are staged: the one that was faster, whichever that is.
#include "engine/peer/staging_pace.hpp"

#include <gtest/gtest.h>

namespace mpix::engine {
namespace {

using std::chrono::nanoseconds;

/// Of `requests` requests of which each takes what its way costs, how many went past the caches.
int past_caches(StagingPace& pace, int requests, std::size_t bytes, bool fetches, nanoseconds cached,
                nanoseconds past) {
  int count = 0;
  for (int i = 0; i < requests; ++i) {
    bool const chosen = pace.past_caches(bytes, fetches);
    pace.note(bytes, fetches, chosen, chosen ? past : cached);
    count += chosen ? 1 : 0;
  }
  return count;
}

constexpr nanoseconds quick{12'000};
constexpr nanoseconds slow{160'000};
constexpr std::size_t quarter = 256 * 1024;
constexpr int many = 5120;
constexpr int few = many / 20;  // that measure the other way

TEST(StagingPace, takes_the_faster_way) {
  StagingPace near;
  EXPECT_LE(past_caches(near, many, quarter, false, quick, slow), few);
  StagingPace far;
  EXPECT_GE(past_caches(far, many, quarter, false, slow, quick), many - few);
}

TEST(StagingPace, notices_that_the_processes_run_elsewhere_now) {
  StagingPace pace;
  (void)past_caches(pace, many, quarter, true, quick, slow / 4);
  EXPECT_GE(past_caches(pace, many, quarter, true, slow, slow / 4), many - few);
  EXPECT_LE(past_caches(pace, many, quarter, true, quick, slow / 4), 2 * few);
}

TEST(StagingPace, is_not_misled_by_the_first_ones) {
  StagingPace pace;
  (void)past_caches(pace, 2, quarter, false, 20 * slow, 10 * slow);
  EXPECT_LE(past_caches(pace, many, quarter, false, quick, slow), few);
}

TEST(StagingPace, tells_sizes_and_fetches_apart) {
  StagingPace pace;
  for (bool const fetches : {false, true}) {
    for (std::size_t bytes = StagingPace::least_bytes; bytes <= std::size_t{1} << 30; bytes *= 16) {
      bool const past = fetches != (bytes > quarter);
      int const count = past_caches(pace, many, bytes, fetches, past ? slow : quick, past ? quick : slow);
      EXPECT_TRUE(past ? count >= many / 2 : count <= many / 2) << bytes;
    }
  }
}

}  // namespace
}  // namespace mpix::engine
