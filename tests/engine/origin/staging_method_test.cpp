/// The staging method of large requests: the faster one is chosen.
#include "engine/origin/staging_method.hpp"

#include <gtest/gtest.h>

namespace mpixrma::engine {
namespace {

using std::chrono::nanoseconds;

/// The times of a request by each method.
struct Costs {
  nanoseconds cached;
  nanoseconds non_temporal;
};

constexpr nanoseconds quick{13'000};
constexpr nanoseconds slow{160'000};
constexpr nanoseconds steady{32'000};
constexpr Costs near{quick, steady};
constexpr Costs far{slow, steady};
constexpr std::size_t quarter = 256 * 1024;
constexpr int many = 5120;
constexpr int few = many / 50;  // requests that measure the other method

/// Returns how many of `requests` requests were staged by non-temporal stores.
int non_temporal(StagingMethodChooser& method, int requests, Costs const& costs, std::size_t bytes = quarter,
                 StagedReply reply = StagedReply::status_only) {
  int count = 0;
  for (int i = 0; i < requests; ++i) {
    Staging const chosen = method.choose(bytes, reply);
    bool const past = chosen == Staging::non_temporal;
    method.note(bytes, reply, chosen, past ? costs.non_temporal : costs.cached);
    count += past ? 1 : 0;
  }
  return count;
}

TEST(StagingMethodChooser, SelectsFasterMethod) {
  StagingMethodChooser method;
  EXPECT_LE(non_temporal(method, many, near), few);
  StagingMethodChooser other;
  EXPECT_GE(non_temporal(other, many, far), many - few);
}

TEST(StagingMethodChooser, DetectsMigrationOfProcesses) {
  StagingMethodChooser method;
  for (int round = 0; round < 3; ++round) {
    (void)non_temporal(method, 512, near);
    EXPECT_LE(non_temporal(method, many, near), few) << round;
    (void)non_temporal(method, 512, far);
    EXPECT_GE(non_temporal(method, many, far), many - few) << round;
  }
}

TEST(StagingMethodChooser, IgnoresFirstMeasurements) {
  StagingMethodChooser method;
  (void)non_temporal(method, 2, {20 * slow, 20 * slow});
  EXPECT_LE(non_temporal(method, many, near), few);
}

TEST(StagingMethodChooser, IgnoresSingleLateMeasurement) {
  StagingMethodChooser method;
  (void)non_temporal(method, 100, near);
  (void)non_temporal(method, 1, {100 * slow, 100 * slow});
  EXPECT_LE(non_temporal(method, many, near), few);
}

TEST(StagingMethodChooser, MeasuresAgainIfFirstTrialsDidNotComplete) {
  StagingMethodChooser method;
  for (int i = 0; i < 8; ++i)
    (void)method.choose(quarter, StagedReply::status_only);  // none of which completed
  EXPECT_GE(non_temporal(method, many, far), many - few);
}

TEST(StagingMethodChooser, MeasuresSizesAndFetchesSeparately) {
  StagingMethodChooser method;
  for (StagedReply const reply : {StagedReply::status_only, StagedReply::fetched_data}) {
    for (std::size_t bytes = StagingMethodChooser::min_bytes; bytes <= std::size_t{1} << 30; bytes *= 16) {
      bool const is_near = (reply == StagedReply::fetched_data) == (bytes > quarter);
      int const count = non_temporal(method, many, is_near ? near : far, bytes, reply);
      EXPECT_TRUE(is_near ? count <= many / 2 : count >= many / 2) << bytes;
    }
  }
}

}  // namespace
}  // namespace mpixrma::engine
