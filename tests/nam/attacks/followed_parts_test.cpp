/// Windows with parts at other servers: which of these servers a client connects to.
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "nam/client/follow.hpp"
#include "nam/client/spread.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// The owner of a window names a server of his own as that of the second part: clients do not connect to that
/// server.
TEST(FollowedParts, CannotBeAtServerNamedByOwner) {
  TestServer server;
  server.start();
  FileDescriptor const lure = listen_tcp("127.0.0.1:0");
  std::string const at = "127.0.0.1:" + std::to_string(port_of(lure));
  std::string const key = to_text(KeyPair::make().public_key);
  Locator const grant = server.grant(1u << 20);
  std::string const port =
      make_persistent(grant, 100, 1, {.other_parts = {"mpix-nam://0a/0b?tcp=" + at + "&key=" + key}}).port;
  EXPECT_EQ(refusal([&] { (void)find_parts(port); }), ErrorCode::denied);
  EXPECT_FALSE(accept_from(lure)) << "a client came";
  std::string const tool = std::string(MPIX_NAM_TOOL) + " evict --server " + server.address().unix_path +
                           " '" + port + "' > /dev/null 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(tool.c_str())), 7);
  EXPECT_FALSE(accept_from(lure)) << "mpix-nam came";
}

/// The owner of the link could exchange it after the client has checked which user's server listens.
TEST(FollowedParts, CannotBeBehindLinkOfAnotherUser) {
  if (!is_root()) GTEST_SKIP() << "needs another user";
  TestServer server;
  server.start();
  Address const teller{"/run/one/socket", "", 0};
  LockedTempDirectory const directory = make_locked_temp_directory("mpix-nam-test-");
  std::filesystem::path const link = directory.path / "socket";
  std::filesystem::create_symlink(server.address().unix_path, link);
  std::filesystem::create_directory_symlink(server.directory(), directory.path / "link");
  EXPECT_EQ(followed({link.string(), "", 0}, teller).unix_path, link.string());
  ASSERT_EQ(::chown(directory.path.c_str(), attacker, attacker), 0);
  EXPECT_EQ(refusal([&] { (void)followed({link.string(), "", 0}, teller); }), ErrorCode::denied);
  EXPECT_EQ(followed({(directory.path / "link/socket").string(), "", 0}, teller), server.address())
      << "without the link of the directory, which its owner can exchange";
  std::filesystem::remove_all(directory.path);
}

TEST(FollowedParts, RequireConsentPinOrName) {
  Address const teller{"/run/one/socket", "", 0};
  std::string const key = to_text(KeyPair::make().public_key);
  Address const written{"", "other", 7726, key};
  EXPECT_EQ(followed(teller, teller), teller);
  EXPECT_EQ(refusal([&] { (void)followed(written, teller); }), ErrorCode::denied);
  EXPECT_EQ(refusal([&] {
              (void)followed({"/run/one/socket", "other", 7726}, {"/run/one/socket", "one", 1});
            }),
            ErrorCode::denied)
      << "the same socket, and a port elsewhere";
  EXPECT_EQ(refusal([&] {
              (void)followed({"/nowhere/socket", "", 0}, teller);
            }),
            ErrorCode::unavailable)
      << "a server on this host that has ended";
  ::setenv("MPIX_NAM_SERVER", "other:7726", 1);
  EXPECT_EQ(followed(written, teller).key, "") << "not the key that somebody has written";
  ::setenv("MPIX_NAM_SERVER", "third:7726", 1);
  EXPECT_EQ(refusal([&] { (void)followed(written, teller); }), ErrorCode::denied);
  ::setenv("MPIX_NAM_FOLLOW", "1", 1);
  EXPECT_EQ(followed(written, teller), written);
  ::unsetenv("MPIX_NAM_FOLLOW");
  {
    ScopedFollowConsent const given(true);
    ScopedFollowConsent const not_given(false);
    EXPECT_EQ(followed(written, teller), written);
    std::thread([&] {
      EXPECT_EQ(refusal([&] { (void)followed(written, teller); }), ErrorCode::denied) << "another thread's";
    }).join();
  }
  EXPECT_EQ(refusal([&] { (void)followed(written, teller); }), ErrorCode::denied);
  ::unsetenv("MPIX_NAM_SERVER");
}

}  // namespace
}  // namespace mpixrma::nam
