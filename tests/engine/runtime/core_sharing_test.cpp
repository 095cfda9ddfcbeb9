// When a polling thread gives its core away between two polls.
#include "engine/runtime/core_sharing.hpp"

#include <gtest/gtest.h>

namespace mpixrma::engine {
namespace {

using namespace std::chrono_literals;

/// Returns the number of polls until the next yield.
unsigned polls_before_yield(CoreSharing& sharing) {
  unsigned polls = 0;
  while (!sharing.yields()) ++polls;
  return polls;
}

TEST(CoreSharing, YieldsEveryFewPollsAmongThreadsThatPoll) {
  CoreSharing sharing;
  for (int i = 0; i < 10000; ++i) {
    ASSERT_LE(polls_before_yield(sharing), 3U);
    sharing.record_absence(i % 2 == 0 ? 500ns : 200us);
  }
}

TEST(CoreSharing, YieldsOnAfterATimeSliceAmongShortAbsences) {
  CoreSharing sharing;
  for (int i = 0; i < 10000; ++i) {
    ASSERT_LE(polls_before_yield(sharing), 3U);
    bool const is_slice = i % 100 == 0;
    EXPECT_EQ(sharing.record_absence(is_slice ? 3ms : 10us), !is_slice);
  }
}

TEST(CoreSharing, YieldsSeldomerEachTimeToAThreadThatComputes) {
  CoreSharing sharing;
  for (int i = 0; i < 2; ++i) {
    ASSERT_LE(polls_before_yield(sharing), 3U);
    sharing.record_absence(3ms);
  }
  unsigned before = polls_before_yield(sharing);
  EXPECT_GE(before, 1000U);
  for (int i = 0; i < 8; ++i) {
    sharing.record_absence(3ms);
    unsigned const now = polls_before_yield(sharing);
    EXPECT_EQ(now, 2 * before);
    before = now;
  }
}

TEST(CoreSharing, KeepsCheckingIfTheCoreIsShared) {
  CoreSharing sharing;
  for (int i = 0; i < 40; ++i) {
    ASSERT_LE(polls_before_yield(sharing), 1U << 21);
    sharing.record_absence(3ms);
  }
}

TEST(CoreSharing, ForgetsAThreadThatHasComputedLongAgo) {
  CoreSharing sharing;
  for (int i = 0; i < 2; ++i) {
    ASSERT_LE(polls_before_yield(sharing), 3U);
    sharing.record_absence(3ms);
  }
  unsigned const first = polls_before_yield(sharing);
  for (int i = 0; i < 5; ++i) {
    sharing.record_absence(3ms);
    polls_before_yield(sharing);
  }
  for (int i = 0; i < 1000; ++i) {
    sharing.record_absence(1us);
    ASSERT_LE(polls_before_yield(sharing), 3U);
  }
  sharing.record_absence(3ms);
  ASSERT_LE(polls_before_yield(sharing), 3U);
  sharing.record_absence(3ms);
  EXPECT_EQ(polls_before_yield(sharing), first);
}

}  // namespace
}  // namespace mpixrma::engine
