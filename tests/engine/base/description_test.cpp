/// Texts about processes and their waits.
#include <gtest/gtest.h>

#include "engine/base/log.hpp"
#include "engine/base/text.hpp"
#include "engine/runtime/watches.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::uint64_t own = std::uint64_t{0xab12} << 32 | 3;

TEST(Descriptions, NameProcessesByRank) {
  Log const log(0, own);
  EXPECT_STREQ(log.name(own + 4).c_str(), "7");
  EXPECT_STREQ(log.name(std::uint64_t{0xcd34} << 32 | 1).c_str(), "1 of job cd34");
  EXPECT_EQ(BoundedText(100, own).name(own + 4), "7");
}

TEST(Descriptions, NameAwaitedCountersByIndex) {
  Watches watches;
  std::uint64_t const counters[2] = {5, 6};
  Completion completion;
  watches.add(&counters[0], 10, completion, 40);
  watches.add(&counters[1], 11, completion, -1);
  BoundedText text(1000, own);
  watches.describe(text);
  EXPECT_NE(text.str().find("  counter 40 at 0x"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("  counter at 0x"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(": is 5, waited for until it is 10\n"), std::string::npos) << text.str();
}

}  // namespace
}  // namespace mpixrma::engine
