/// The control block shared by the processes that map the memory of a grant: slots of windows.
#include "nam/protocol/shared_control.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <set>
#include <string>

namespace mpixrma::nam {
namespace {

TEST(SharedControlTest, EachWindowHasItsOwnSlotUntilItEnds) {
  SharedControl control = SharedControl::make(4);
  std::map<std::string, SharedControl::Slot> places;
  for (std::string const window : {"a", "b", "c", "d"}) places[window] = control.place(window).value();
  std::set<SharedControl::Slot> distinct;
  for (auto const& [window, slot] : places) {
    EXPECT_EQ(SharedControl::take_over(control.reopen()).find(window), slot);
    EXPECT_TRUE(distinct.insert(slot).second);
  }
  EXPECT_FALSE(control.place("e"));
  EXPECT_FALSE(control.find("e"));
  for (std::string const ended : {"b", "a"}) {
    std::uint64_t const generation = control.generation(places[ended]).load();
    control.free_slot(places[ended]);
    EXPECT_FALSE(SharedControl::take_over(control.reopen()).find(ended));
    EXPECT_EQ(control.place("after " + ended), places[ended]);
    EXPECT_NE(control.generation(places[ended]).load(), generation);
  }
  EXPECT_EQ(SharedControl::take_over(control.reopen()).find("d"), places["d"]);
}

TEST(SharedControlTest, CachedWindowsAreTakenOnce) {
  SharedControl control = SharedControl::make(2);
  SharedControl::Slot const slot = control.place("a").value();
  std::uint64_t const before = control.generation(slot).load();
  EXPECT_EQ(control.cached(slot), 0u);
  std::uint64_t const cached = control.cache_window(slot, before);
  EXPECT_NE(cached, before);
  EXPECT_EQ(control.generation(slot).load(), cached);
  EXPECT_EQ(control.cached(slot), cached);
  EXPECT_FALSE(control.take_cached(slot, before));
  EXPECT_TRUE(control.take_cached(slot, cached));
  EXPECT_FALSE(control.take_cached(slot, cached));
  EXPECT_EQ(control.generation(slot).load(), cached);
  EXPECT_EQ(control.cache_window(slot, before), 0u);
  std::uint64_t const again = control.cache_window(slot, cached);
  control.withdraw(slot);
  EXPECT_FALSE(control.take_cached(slot, again));
  EXPECT_NE(control.generation(slot).load(), again);
  EXPECT_EQ(control.cache_window(slot, again), 0u);
  EXPECT_EQ(control.cached(slot), 0u);
}

/// A hole reads as zeros, and no access to it fails.
TEST(SharedControlTest, IsUsableWithAHole) {
  SharedControl control = SharedControl::make(1000);
  auto const slot = control.place("a").value();
  FileDescriptor const client = control.reopen();
  struct stat status {};
  ASSERT_EQ(::fstat(client.get(), &status), 0);
  ASSERT_EQ(::fallocate(client.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size), 0);
  EXPECT_FALSE(control.is_taken(slot));
  EXPECT_NE(control.place("b"), slot) << "the owner of the places knows which are taken";
  control.free_slot(slot);
  EXPECT_EQ(control.generation(slot).load(), 1u);
}

}  // namespace
}  // namespace mpixrma::nam
