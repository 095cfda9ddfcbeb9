/// A server that another user runs may name the address of somebody else's server, and processes that do not
/// use the server.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "nam/client/known_servers.hpp"
#include "nam/client/secrets.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/user_secret.hpp"
#include "tests/nam/attacks/guest.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"

namespace mpixrma::nam {
namespace {

namespace fs = std::filesystem;

/// The attacker's server is genuine, apart from the address that it names.
class ForeignServer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs other users";
    for (fs::path const& each : {of_attacker_, of_user_}) fs::create_directory(each);
    ASSERT_EQ(::chown(of_attacker_.c_str(), attacker, attacker), 0);
    ASSERT_EQ(::chown(of_user_.c_str(), harmless, harmless), 0);
    port_ = std::to_string(port_of(listen_tcp("127.0.0.1:0")));
  }
  void TearDown() override {
    if (server_ > 0) {
      ::kill(server_, SIGTERM);
      EXPECT_EQ(::waitpid(server_, nullptr, 0), server_);
    }
    for (fs::path const& each : {of_attacker_, of_user_}) fs::remove_all(each);
  }
  /// Starts the server, which names `host` as its own.
  void start(std::string const& host) {
    std::string const directory = of_attacker_ / "state";
    std::string const log = of_attacker_ / "log";
    server_ = ::fork();
    if (server_ == 0) {
      if (::setgid(attacker) != 0 || ::setuid(attacker) != 0) ::_exit(1);
      ::execl(MPIX_NAMD, "mpix-namd", "--size", "8M", "--directory", directory.c_str(), "--socket",
              socket().c_str(), "--log-file", log.c_str(), "--listen", ("127.0.0.1:" + port_).c_str(),
              "--advertise", host.c_str(), nullptr);
      ::_exit(127);
    }
    claimed_ = {"", host, static_cast<std::uint16_t>(std::stoul(port_)), ""};
    EXPECT_TRUE(as_user(harmless, [&] {
      return eventually([&] {
        return !refusal([&] { (void)Client(Address{socket(), "", 0}).request({{"op", "hello"}}); });
      });
    }));
  }
  std::string socket() const { return of_attacker_ / "socket"; }
  /// Runs `body` as the user, with the secret file of the user.
  bool as_victim(std::function<bool()> const& body) const {
    return as_user(harmless, [&] {
      ::setenv("MPIX_NAM_SECRET_FILE", (of_user_ / "secret").c_str(), 1);
      return body();
    });
  }
  int fetch() const { return run_tool("secret --server " + socket()).exit_code; }

  fs::path const of_attacker_ = "/run/mpix-nam-test-" + random_identifier();
  fs::path const of_user_ = "/run/mpix-nam-test-" + random_identifier();
  std::string port_;
  Address claimed_;
  pid_t server_ = -1;
};

TEST_F(ForeignServer, ProvidesSecretForItselfOnly) {
  start("127.0.0.1");
  EXPECT_TRUE(as_victim([&] {
    UserSecret const own = random_secret();
    write_secret(secret_file(), own);
    return fetch() == 0 && fetch() == 0 && read_secret(secret_file()) == own &&
           read_secret(secret_file(claimed_)).has_value() && pinned_key(claimed_).has_value();
  }));
}

TEST_F(ForeignServer, ReplacesNoPinnedKey) {
  start("127.0.0.1");
  EXPECT_TRUE(as_victim([&] {
    PublicKey const pinned = KeyPair::make().public_key;
    fs::create_directories(secret_file().parent_path());
    pin_key(claimed_, pinned);
    return fetch() == 7 && pinned_key(claimed_) == pinned && !fs::exists(secret_file(claimed_)) &&
           !fs::exists(secret_file());
  }));
}

TEST_F(ForeignServer, ReplacesNoOtherSecret) {
  start("127.0.0.1");
  EXPECT_TRUE(as_victim([&] {
    UserSecret const own = random_secret();
    write_secret(secret_file(claimed_), own);
    return fetch() == 7 && read_secret(secret_file(claimed_)) == own && !pinned_key(claimed_);
  }));
}

/// No server listens at the claimed address now; the genuine server may be started later.
TEST_F(ForeignServer, CannotClaimAddressWithoutServer) {
  start("127.0.0.77");
  EXPECT_TRUE(
      as_victim([&] { return fetch() != 0 && !fs::exists(secret_file(claimed_)) && !pinned_key(claimed_); }));
}

/// Root may end any process, but another user's server must not make root's mpix-nam end one by naming it.
TEST_F(ForeignServer, CannotEndProcessesOfOtherUsers) {
  start("127.0.0.1");
  Address const address{socket(), "", 0};
  fs::path const grant_file = of_attacker_ / "grant";
  EXPECT_TRUE(as_user(attacker, [&] {
    Json const made =
        Client(address).request({{"op", "grant"}, {"bytes", 1u << 20}, {"owner", std::to_string(harmless)}});
    std::ofstream(grant_file) << made.at("locator").get<std::string>();
    return true;
  }));
  std::string locator;
  std::getline(std::ifstream(grant_file), locator);
  fs::path const port_file = of_user_ / "port";
  UserProcess const user(harmless, harmless, [&](UserProcess::Wait const& wait) {
    Session session = Session::open(parse_locator(locator));
    GrantMapping const memory = session.map();
    std::ofstream(port_file) << session.allocate({8}, {1}, {.persistent = true}).port;
    wait();
    return true;
  });
  user.await();
  std::string port;
  std::getline(std::ifstream(port_file), port);
  ToolRun const run = run_tool("--server " + socket() + " evict --end-processes '" + port + "'");
  EXPECT_EQ(run.exit_code, 7) << run.output;
  user.go_on();
}

}  // namespace
}  // namespace mpixrma::nam
