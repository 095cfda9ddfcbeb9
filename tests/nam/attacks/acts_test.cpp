/// Administrative acts: they write a line to the audit log, can be tried without effect, and change who may
/// use a window.
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "nam/server/database.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

class RequestAudit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    server.start({"--size", "64M", "--listen", "none", "--audit-log", audit_file()});
    server.admit_all_users();
    grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
    EXPECT_TRUE(as_user(owner, [this] {
      server.ask({{"op", "publish"}, {"name", "field"}, {"port", make_persistent(grant, 100, 1).port}});
      return true;
    }));
    port = server.ask({{"op", "lookup"}, {"name", "~64001/field"}}).at("port").get<std::string>();
  }
  std::string audit_file() const { return (server.directory() / "audit").string(); }
  /// Whether the audit log has a line that contains all of these texts.
  bool has_line(std::vector<std::string> const& parts) const {
    std::ifstream file(audit_file());
    for (std::string line; std::getline(file, line);) {
      bool const has_all = std::all_of(parts.begin(), parts.end(), [&](std::string const& part) {
        return line.find(part) != std::string::npos;
      });
      if (has_all) return true;
    }
    return false;
  }
  std::vector<std::string> lines_with(std::string const& text) const {
    std::ifstream file(audit_file());
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) {
      if (line.find(text) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  static bool says(ToolRun const& run, char const* text) {
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_NE(run.output.find(text), std::string::npos) << run.output;
    return !HasFailure();
  }
  ToolRun tool(std::string const& arguments) const { return run_tool(server, arguments); }

  TestServer server;
  Locator grant;
  std::string port;
};

TEST_F(RequestAudit, DeniedRequestsAreAudited) {
  EXPECT_TRUE(as_user(stranger, [&] {
    for (Json const& request :
         {Json{{"op", "connect"}, {"port", port}}, Json{{"op", "evict"}, {"port", port}},
          Json{{"op", "revoke"}, {"grant", grant.grant}}, Json{{"op", "lookup"}, {"name", "~64001/field"}}}) {
      if (refusal([&] { server.ask(request); }) != ErrorCode::not_found) return false;
    }
    return refusal([&] { server.grant(4096); }) == ErrorCode::denied &&
           refusal([&] {
             server.ask({{"op", "lookup"}, {"name", "none"}});
           }) == ErrorCode::not_found;
  }));
  for (char const* const request : {"connect", "evict", "revoke", "lookup", "grant"})
    EXPECT_TRUE(has_line(
        {"user=\"64002\"", "from=\"pid ", "request=\"" + std::string(request) + "\"", "result=denied"}))
        << request;
  EXPECT_FALSE(has_line({"object=\"none\""}));  // no object of this name exists, so nothing was denied
  struct stat status {};
  ASSERT_EQ(::stat(audit_file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(RequestAudit, DenialsOfDataProcessesAreAudited) {
  server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0644}});
  EXPECT_TRUE(as_user(stranger, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    return refusal([&] { session.write(window, 0, 0, pattern(1, 1)); }) == ErrorCode::denied;
  }));
  EXPECT_TRUE(eventually([&] {
    return has_line({"user=\"64002\"", "session of grant", "request=\"write\"", "denied"});
  }));
}

/// Many denials of one user in a data process do not hide the few of another user. Denials without a line are
/// counted.
TEST_F(RequestAudit, DenialsOfDataProcessesAreCountedPerUser) {
  server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0644}});
  auto const deny = [&](uid_t user, int count) {
    return as_user(user, [&] {
      WindowInfo window;
      Session session = Session::connect(port, &window);
      for (int i = 0; i < count; ++i) {
        if (refusal([&] { session.write(window, 0, 0, pattern(1, 1)); }) != ErrorCode::denied) return false;
      }
      return true;
    });
  };
  EXPECT_TRUE(deny(stranger, 500));
  EXPECT_TRUE(deny(stranger + 1, 3));
  auto const told = [&](uid_t user) {
    std::uint64_t acts = 0;
    for (std::string const& line :
         lines_with("user=\"" + std::to_string(user) + "\" from=\"session of grant")) {
      if (line.find("result=denied") != std::string::npos) ++acts;
      std::size_t const at = line.find(" omitted=");
      if (at != std::string::npos) acts += std::stoull(line.substr(at + 9));
    }
    return acts;
  };
  EXPECT_TRUE(eventually([&] { return told(stranger) == 500 && told(stranger + 1) == 3; }))
      << told(stranger) << " and " << told(stranger + 1);
}

TEST_F(RequestAudit, LongFieldsOfDeniedRequestsAreShortened) {
  server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0644}});
  EXPECT_TRUE(as_user(stranger, [&] {
    Client client(server.address());
    (void)client.request({{"op", "connect"}, {"port", port}});
    return refusal([&] {
             (void)client.request({{"op", "map"}, {"window", std::string(10000, 'x')}});
           }) == ErrorCode::denied;
  }));
  EXPECT_TRUE(eventually([&] { return has_line({"user=\"64002\"", "request=\"map\"", "xxx...\""}); }));
  for (std::string const& line : lines_with("request=\"map\"")) EXPECT_LT(line.size(), 1000u);
}

TEST_F(RequestAudit, AreAuditedAndDoNotFillTheDisk) {
  EXPECT_TRUE(has_line({"user=\"root\"", "request=\"grant\"", "object=\"64001 1048576\"", "result=done"}));
  EXPECT_TRUE(has_line({"request=\"start\""}));
  auto const began = std::chrono::steady_clock::now();
  EXPECT_TRUE(as_user(stranger, [&] {
    Client client(server.address());
    for (int i = 0; i < 2000; ++i)
      (void)refusal([&] {
        client.request({{"op", "evict"}, {"port", port}, {"\"\n", std::string(1000, 'x')}});
      });
    return true;
  }));
  // 100 lines at once, and 20 a second.
  std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - began;
  EXPECT_LT(static_cast<double>(lines_with("").size()), 200 + 20 * taken.count());
  server.ask({{"op", "revoke"}, {"grant", grant.grant}});
  EXPECT_TRUE(has_line({"user=\"root\"", "request=\"revoke\"", grant.grant, "result=done"}));
}

TEST_F(RequestAudit, DryRunsHaveNoEffect) {
  EXPECT_TRUE(says(tool("revoke --dry-run " + grant.grant), "1 persistent windows, 1 names"));
  EXPECT_TRUE(says(tool("evict --dry-run '" + port + "'"), "would evict"));
  EXPECT_TRUE(says(tool("unpublish --dry-run --user 64001 field"), "would unpublish field of 64001"));
  expect_pattern(port, 100, 1);
  EXPECT_EQ(tool("lookup '~64001/field'").exit_code, 0);
  EXPECT_TRUE(as_user(stranger, [&] {
    return refusal([&] {
             server.ask({{"op", "dry_run"}, {"request", "revoke"}, {"grant", grant.grant}});
           }) == ErrorCode::not_found;
  }));
  EXPECT_FALSE(has_line({"request=\"revoke\"", "result=done"}));
  EXPECT_EQ(tool("backup '" + port + "' " + (server.directory() / "saved").string()).exit_code, 0);
  EXPECT_EQ(
      tool("restore --dry-run " + grant.grant + " " + (server.directory() / "saved").string()).exit_code, 0);
  EXPECT_EQ(server.show(grant).at("window_list").size(), 1u);
}

TEST_F(RequestAudit, ChmodChangesAccessToWindow) {
  auto const as_stranger = [&](auto const& body) {
    return as_user(stranger, [&] {
      WindowInfo window;
      Session session = Session::connect(port, &window);
      return body(session, window);
    });
  };
  auto const reads = [](Session& session, WindowInfo const& window) {
    return content(session, window, 0) == pattern(100, 1);
  };
  auto const may_not_write = [](Session& session, WindowInfo const& window) {
    return refusal([&] { session.write(window, 0, 0, pattern(1, 1)); }) == ErrorCode::denied;
  };
  EXPECT_FALSE(as_stranger(reads));
  EXPECT_EQ(tool("chmod 0644 '" + port + "'").exit_code, 0);
  EXPECT_TRUE(as_stranger(reads));
  EXPECT_TRUE(as_stranger(may_not_write));
  EXPECT_TRUE(as_user(owner, [&] {  // the window's owner
    server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0666}});
    return true;
  }));
  EXPECT_FALSE(as_stranger(may_not_write));
  EXPECT_TRUE(as_user(stranger, [&] {
    return refusal([&] {
             server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0600}});
           }) == ErrorCode::denied;
  }));
  for (char const* const bad : {"0777", "9", "-1", "rw"})
    EXPECT_NE(tool(std::string("chmod ") + bad + " '" + port + "'").exit_code, 0) << bad;
  EXPECT_EQ(tool("chmod 600 '" + port + "'").exit_code, 0);
  EXPECT_EQ(server.show(grant).at("window_list")[0].at("mode"), 0600);
  EXPECT_FALSE(as_stranger(reads));
}

/// The change also applies to open sessions.
TEST_F(RequestAudit, ChmodRevokesRightsOfOpenSessions) {
  server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0644}});
  int ends[2][2];
  ASSERT_EQ(::pipe(ends[0]), 0);
  ASSERT_EQ(::pipe(ends[1]), 0);
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(ends[1][1]);
    char ignored = 0;
    bool good = ::setgid(stranger) == 0 && ::setuid(stranger) == 0;
    try {
      WindowInfo window;
      Session session = Session::connect(port, &window);
      good = good && content(session, window, 0) == pattern(100, 1);
      good = good && ::write(ends[0][1], "x", 1) == 1 && ::read(ends[1][0], &ignored, 1) == 1;
      std::vector<std::byte> one(1);
      good = good && refusal([&] { session.read(window, 0, 0, one); }) == ErrorCode::not_found;
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
      good = false;
    }
    ::_exit(good ? 0 : 1);
  }
  ::close(ends[0][1]);  // otherwise read() would not return if the child ends early
  char ignored = 0;
  ASSERT_EQ(::read(ends[0][0], &ignored, 1), 1);
  server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0600}});
  ASSERT_EQ(::write(ends[1][1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ends[0][0]);
  for (int const end : ends[1]) ::close(end);
}

/// A change of a mode is requested while the data process is stopped.
class StoppedChmod : public RequestAudit {
 protected:
  void SetUp() override {
    RequestAudit::SetUp();
    if (IsSkipped()) return;
    process = server.data_process(grant);
    stop_process(process);
    asking = std::thread([this] {
      server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0644}});
      answered = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  void expect_readable() {
    asking.join();
    EXPECT_TRUE(as_user(stranger, [&] {
      WindowInfo window;
      Session session = Session::connect(port, &window);
      return content(session, window, 0) == pattern(100, 1);
    }));
  }

  pid_t process = 0;
  std::atomic<bool> answered = false;
  std::thread asking;
};

TEST_F(StoppedChmod, IsAnsweredOnceItIsInForce) {
  EXPECT_FALSE(answered);
  EXPECT_EQ(::kill(process, SIGCONT), 0);
  expect_readable();
}

TEST_F(StoppedChmod, IsAnsweredIfTheDataProcessDies) {
  EXPECT_FALSE(answered);
  EXPECT_EQ(::kill(process, SIGKILL), 0);
  expect_readable();
}

/// A control process may end after it has changed the catalog and before it tells the data process.
TEST_F(RequestAudit, AdoptedDataProcessHasTheModesOfTheCatalog) {
  pid_t const process = server.data_process(grant);
  pid_t const control = server.control_process();
  server.kill();
  // The control process ends after the main process, and has the catalog open until then.
  ASSERT_TRUE(eventually([&] { return ::kill(control, 0) != 0; }));
  {
    Database catalog(server.state / "catalog.sqlite", Database::Mode::existing);
    catalog.run("UPDATE windows SET body = json_set(body, '$.mode', 420)");  // 0644
  }
  server.start({"--size", "64M", "--listen", "none"});
  EXPECT_TRUE(as_user(stranger, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    return content(session, window, 0) == pattern(100, 1);
  }));
  EXPECT_EQ(server.data_process(grant), process);
}

/// An empty text, as of a variable that is not set, does not remove the end of a grant.
TEST_F(RequestAudit, TimesAndUsersOfGrantsAreChecked) {
  std::string const locator = " '" + format(grant) + "'";
  ASSERT_EQ(tool("extend --expires 1h" + locator).exit_code, 0);
  for (std::string const& wrong : {std::string("grant 4K --expires 100000d"),
                                   std::string("grant 4K --expires ''"), std::string("grant 4K --owner ''"),
                                   "extend --expires ''" + locator, "extend --expires 50000d" + locator}) {
    ToolRun const run = tool(wrong);
    EXPECT_EQ(run.exit_code, 2) << wrong << ": " << run.output;
    EXPECT_EQ(run.output.find("malformed"), std::string::npos) << run.output;
  }
  EXPECT_FALSE(server.show(grant).at("expires_in").is_null());
}

}  // namespace
}  // namespace mpixrma::nam
