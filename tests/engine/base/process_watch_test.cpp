/// The ends of watched processes.
#include "engine/base/process_watch.hpp"

#include <poll.h>

#include <new>
#include <vector>

#include "tests/support/child.hpp"

namespace mpixrma::engine {
namespace {

using test::Child;
using Ended = std::vector<std::uint64_t>;

constexpr std::uint64_t process = 7;

Ended ended(ProcessWatch& watch) {
  Ended found;
  watch.take_ended([&](std::uint64_t each) { found.push_back(each); });
  return found;
}

/// Waits until a process has ended, for at most 20 seconds; returns those that have ended.
Ended next_ended(ProcessWatch& watch) {
  constexpr int longest_ms = 20000;
  pollfd source{watch.fd(), POLLIN, 0};
  (void)::poll(&source, 1, longest_ms);
  return ended(watch);
}

TEST(ProcessWatch, ReportsTheEndOnce) {
  ProcessWatch watch;
  Child child([] {});
  EXPECT_TRUE(watch.add(process, child.pid()));
  EXPECT_FALSE(watch.add(process, child.pid())) << "it is watched already";
  EXPECT_EQ(ended(watch), Ended{});
  child.kill();
  EXPECT_EQ(next_ended(watch), Ended{process});
  EXPECT_EQ(ended(watch), Ended{});
}

TEST(ProcessWatch, WatchesCurrentProcessOfTheIdentity) {
  ProcessWatch watch;
  Child first([] {});
  Child second([] {});
  EXPECT_TRUE(watch.add(process, first.pid()));
  EXPECT_TRUE(watch.add(process, second.pid()));
  first.kill();
  first.reap();
  EXPECT_EQ(ended(watch), Ended{});
  second.kill();
  EXPECT_EQ(next_ended(watch), Ended{process});
}

TEST(ProcessWatch, ReportsEarlierEndAtTheNextPoll) {
  ProcessWatch watch;
  Child child([] {});
  child.kill();
  child.reap();
  EXPECT_FALSE(watch.must_poll());
  EXPECT_TRUE(watch.add(process, child.pid()));
  EXPECT_TRUE(watch.must_poll()) << "no event announces it";
  EXPECT_EQ(ended(watch), Ended{process});
  EXPECT_FALSE(watch.must_poll());
}

TEST(ProcessWatch, ReportsAgainWhatWasNotHandled) {
  ProcessWatch watch;
  Child child([] {});
  EXPECT_TRUE(watch.add(process, child.pid()));
  child.kill();
  child.reap();
  EXPECT_THROW(watch.take_ended([](std::uint64_t) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(watch.must_poll()) << "the event is over";
  EXPECT_EQ(ended(watch), Ended{process});
  EXPECT_FALSE(watch.must_poll());
}

}  // namespace
}  // namespace mpixrma::engine
