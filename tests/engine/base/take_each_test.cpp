/// Lists whose elements are taken out one after the other.
#include "engine/base/take_each.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace mpixrma::engine {
namespace {

using Words = std::vector<std::string>;

TEST(TakeEach, HandlesEachOnce) {
  Words list = {"a", "b", "c"};
  Words seen;
  take_each(list, [&](std::string const& word) {
    seen.push_back(word);
    if (word == "b") list.push_back("later");
  });
  EXPECT_EQ(seen, (Words{"a", "b", "c"}));
  EXPECT_EQ(list, Words{"later"});
}

TEST(TakeEach, KeepsWhatHasNotBeenHandled) {
  Words list = {"a", "b", "c", "d"};
  auto const handle = [&](std::string const& word) {
    if (word == "c") throw std::bad_alloc();
    if (word == "b") list.push_back("later");
  };
  EXPECT_THROW(take_each(list, handle), std::bad_alloc);
  EXPECT_EQ(list, (Words{"c", "d", "later"}));
}

}  // namespace
}  // namespace mpixrma::engine
