/// Attacks on the identity of users and servers: who a session belongs to, and which server it leads to.
#include <cstdlib>
#include <filesystem>

#include "tests/nam/windows_of_server.hpp"

namespace mpix::nam {
namespace {

constexpr uid_t attacker = 64001;

TEST(Identity, LocalUserCannotClaimAnotherName) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start();
  std::filesystem::permissions(server.directory(), std::filesystem::perms(0755));
  EXPECT_TRUE(as_user(attacker, [&] {
    ::setenv("MPIX_NAM_USER", "root", 1);
    Json const answer = server.ask({{"op", "hello"}, {"user", "root"}, {"nonce", "0"}});
    return answer.at("user") == std::to_string(attacker) && !answer.at("admin").get<bool>() &&
           refusal([&] { server.grant(4096); }) == ErrorCode::denied;
  }));
}

}  // namespace
}  // namespace mpix::nam
