#include "engine/agent/transport_config.hpp"

#include <gtest/gtest.h>

namespace mpix::engine {
namespace {

TEST(TransportConfig, without_shared_memory_keeps_what_the_user_asked_for_beyond_it) {
  EXPECT_EQ(without_shared_memory(""), "^sm");
  EXPECT_EQ(without_shared_memory("all"), "^sm");
  EXPECT_EQ(without_shared_memory("^tcp"), "^tcp,sm");
  EXPECT_EQ(without_shared_memory("posix,tcp"), "tcp,tcp,self");
  EXPECT_EQ(without_shared_memory("sm,rc"), "rc,tcp,self");
  EXPECT_EQ(without_shared_memory("tcp,self"), "tcp,self,tcp,self");
}

}  // namespace
}  // namespace mpix::engine
