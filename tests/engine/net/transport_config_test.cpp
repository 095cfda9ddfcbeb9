#include "engine/net/transport_config.hpp"

#include <gtest/gtest.h>

namespace mpixrma::engine {
namespace {

TEST(TransportConfig, WithoutSharedMemoryKeepsOtherRequestedTransports) {
  EXPECT_EQ(without_shared_memory(""), "^sm");
  EXPECT_EQ(without_shared_memory("all"), "^sm");
  EXPECT_EQ(without_shared_memory("^tcp"), "^tcp,sm");
  EXPECT_EQ(without_shared_memory("posix,tcp"), "tcp,tcp,self");
  EXPECT_EQ(without_shared_memory("sm,rc"), "rc,tcp,self");
  EXPECT_EQ(without_shared_memory("tcp,self"), "tcp,self,tcp,self");
}

TEST(TransportConfig, TcpIsUsedUnlessExcludedByTheUser) {
  EXPECT_TRUE(uses_tcp(""));
  EXPECT_TRUE(uses_tcp("all"));
  EXPECT_TRUE(uses_tcp("sm,tcp,self"));
  EXPECT_TRUE(uses_tcp("^sm"));
  EXPECT_FALSE(uses_tcp("sm,self"));
  EXPECT_FALSE(uses_tcp("^sm,tcp"));
}

TEST(TransportConfig, TcpNeedsAnInterfaceAmongTheDevices) {
  EXPECT_TRUE(uses_interfaces(""));
  EXPECT_TRUE(uses_interfaces("all"));
  EXPECT_TRUE(uses_interfaces("mlx5_7:1,lo"));
  EXPECT_TRUE(uses_interfaces("^lo"));
  EXPECT_FALSE(uses_interfaces("mlx5_7:1"));
}

}  // namespace
}  // namespace mpixrma::engine
