/// Administrators whom the configuration does not name any more: what they have opened gives them no right.
#include <fstream>

#include "tests/nam/attacks/guest.hpp"

namespace mpixrma::nam {
namespace {

class Administrators : public ::testing::Test {
 protected:
  static constexpr uid_t former = 64031;

  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    configure("admins = [\"64031\"]\nsize = \"8M\"\n");
    server_.start({"--config", configuration().string(), "--listen", "none"});
    server_.admit_all_users();
    grant_ = server_.grant(1u << 20);
  }
  void remove_administrator() const {
    configure("size = \"16M\"\n");
    ::kill(server_.pid(), SIGHUP);
    EXPECT_TRUE(eventually([&] { return server_.ask({{"op", "usage"}}).at("capacity") == 16u << 20; }));
  }

  TestServer server_;
  Locator grant_;

 private:
  std::filesystem::path configuration() const { return server_.directory() / "namd.toml"; }
  void configure(char const* text) const { std::ofstream(configuration()) << text; }
};

TEST_F(Administrators, LoseTheirConnectionsWhenTheyAreRemoved) {
  UserProcess const user(former, former, [&](UserProcess::Wait const& wait_for_test) {
    Client open(server_.address());
    Json const show{{"op", "show"}, {"grant", grant_.grant}};
    bool const had = open.request(show).contains("pid");
    wait_for_test();
    return had && refusal([&] { open.request(show); }) == ErrorCode::unavailable &&
           refusal([&] { server_.ask(show); }) == ErrorCode::not_found;
  });
  user.await();
  remove_administrator();
  user.go_on();
}

TEST_F(Administrators, LoseTheirSessionsWhenTheyAreRemoved) {
  UserProcess const user(former, former, [&](UserProcess::Wait const& wait_for_test) {
    Session session = Session::open(grant_);
    WindowInfo const window = session.allocate({100}, {1});
    session.write(window, 0, 0, pattern(100, 1));
    wait_for_test();
    return eventually([&] { return refusal([&] { (void)session.usage(); }).has_value(); }) &&
           refusal([&] { Session::open(grant_); }) == ErrorCode::not_found;
  });
  user.await();
  remove_administrator();
  user.go_on();
}

/// The session waits for its data process while its user is removed.
TEST_F(Administrators, HaveNoRightInSessionsThatBeginLater) {
  pid_t const process = server_.data_process(grant_);
  stop_process(process);
  {
    UserProcess const user(former, former, [&](UserProcess::Wait const&) {
      auto const refused = refusal([&] {
        Session session = Session::open(grant_);
        (void)session.allocate({100}, {1});
      });
      return refused.has_value();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until the session waits
    remove_administrator();
    EXPECT_EQ(::kill(process, SIGCONT), 0);
  }
  EXPECT_EQ(server_.data_process(grant_), process);
}

/// Owners keep their sessions, and so do the remaining administrators.
TEST_F(Administrators, RemovalKeepsSessionsOfOtherAdministrators) {
  Locator const own = server_.grant(1u << 20, {{"owner", std::to_string(former)}});
  Session remaining = Session::open(grant_);
  UserProcess const user(former, former, [&](UserProcess::Wait const& wait_for_test) {
    Session session = Session::open(own);
    WindowInfo const window = session.allocate({100}, {1});
    wait_for_test();
    session.write(window, 0, 0, pattern(100, 1));
    return content(session, window, 0) == pattern(100, 1);
  });
  user.await();
  remove_administrator();
  EXPECT_EQ(refusal([&] { (void)remaining.usage(); }), std::nullopt);
  user.go_on();
}

}  // namespace
}  // namespace mpixrma::nam
