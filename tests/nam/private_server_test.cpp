/// Resources that private servers of a process leave behind.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "engine/base/liveness.hpp"
#include "nam/client/private_server.hpp"
#include "tests/nam/server_fixture.hpp"

namespace mpixrma::nam {
namespace {

namespace fs = std::filesystem;

fs::path directory_of(PrivateServer const& server) {
  return fs::path(server.grant().address.unix_path).parent_path();
}

/// Returns the process that was started with this directory.
pid_t server_in(fs::path const& directory) {
  for (fs::directory_entry const& process : fs::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "cmdline");
    std::string const line(std::istreambuf_iterator<char>(file), {});
    if (line.find(directory.string() + "/socket") != std::string::npos)
      return std::stoi(process.path().filename().string());
  }
  return -1;
}

/// A process that has a private server and is killed with this object; the server can be killed earlier.
class Owner {
 public:
  Owner() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    FileDescriptor const told(ends[0]);
    FileDescriptor const tells(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      PrivateServer const server(1u << 20);
      Json const told_of{{"directory", directory_of(server).string()}, {"grant", format(server.grant())}};
      std::string const text = told_of.dump();
      (void)!::write(tells.get(), text.data(), text.size());
      for (;;) ::pause();
    }
    char text[1024];
    ssize_t const bytes = ::read(told.get(), text, sizeof text);
    Json const heard = Json::parse(text, text + std::max<ssize_t>(bytes, 0));
    directory_ = heard.at("directory").get<std::string>();
    grant_ = parse_locator(heard.at("grant").get<std::string>());
  }
  ~Owner() {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  Owner(Owner const&) = delete;
  Owner& operator=(Owner const&) = delete;

  fs::path const& directory() const { return directory_; }
  /// Kills the server, which has no time to clean up.
  void kill_server() const {
    Json const shown = Client(grant_.address).request({{"op", "show"}, {"grant", grant_.grant}});
    ::kill(server_in(directory_), SIGKILL);
    ::kill(shown.at("pid").get<pid_t>(), SIGKILL);
  }

 private:
  pid_t pid_ = -1;
  fs::path directory_;
  Locator grant_;
};

TEST(PrivateServer, RemovesFilesOfKilledServer) {
  Owner const killed;
  Owner const other;
  killed.kill_server();
  EXPECT_TRUE(eventually([&] {
    PrivateServer const next(1u << 20);
    return !fs::exists(killed.directory());
  }));
  EXPECT_TRUE(fs::exists(other.directory() / "socket"));
}

TEST(PrivateServer, OrphanedDataProcessEndsWithItsLastSession) {
  PrivateServer const server(1u << 20);
  std::optional<Session> session = Session::open(server.grant());
  WindowInfo const window = session->allocate({8}, {1});
  Json const shown =
      Client(server.grant().address).request({{"op", "show"}, {"grant", server.grant().grant}});
  auto const data_process = shown.at("pid").get<pid_t>();
  pid_t const control_process = server_in(directory_of(server));
  ::kill(control_process, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !engine::process_is_alive(control_process); }));
  std::vector<std::byte> const values = {std::byte{1}, std::byte{2}};
  session->write(window, 0, 3, values);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // the data process checks once a second
  std::vector<std::byte> found(2);
  session->read(window, 0, 3, found);
  EXPECT_EQ(found, values);
  session.reset();
  EXPECT_TRUE(eventually([&] { return !engine::process_is_alive(data_process); }));
}

/// The application has reaped the server, and a process that is no child has the server's pid by now.
TEST(PrivateServer, EndsNoOtherProcessWithItsPid) {
  std::optional<PrivateServer> server(std::in_place, 1u << 20);
  pid_t const pid = server_in(directory_of(*server));
  ::kill(pid, SIGKILL);
  ASSERT_EQ(::waitpid(-1, nullptr, 0), pid);
  pid_t const parent = ::fork();
  if (parent == 0) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::ofstream("/proc/sys/kernel/ns_last_pid") << pid - 1;
      pid_t const made = ::fork();
      if (made == 0 && ::getpid() == pid) ::pause();
      if (made == 0 || made == pid) break;
    }
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  if (!engine::process_is_alive(pid)) GTEST_SKIP() << "this user may not choose the pid of a process";
  server.reset();
  EXPECT_TRUE(engine::process_is_alive(pid));
  ::kill(pid, SIGKILL);
}

/// The next test runs this test from a copy of the program in another directory.
TEST(PrivateServerProgram, Starts) {
  PrivateServer const server(1u << 20);
  EXPECT_FALSE(format(server.grant()).empty());
}

TEST(PrivateServerProgram, RejectsProgramOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files to other users";
  constexpr uid_t stranger = 65534;
  std::string name = (fs::temp_directory_path() / "mpix-private-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  fs::path const place = name;
  fs::create_directories(place / "bin");
  fs::create_directories(place / "lib");
  fs::path const planted = place / "bin/mpix-namd";
  std::ofstream(planted) << "#!/bin/sh\ntouch " << (place / "started").string() << "\n";
  fs::permissions(planted, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_all);
  EXPECT_EQ(
      ::chown(planted.c_str(), stranger, stranger) | ::chown((place / "bin").c_str(), stranger, stranger), 0);
  fs::copy_file("/proc/self/exe", place / "lib/program");
  std::string const command = "PATH=" + fs::path(MPIX_NAMD).parent_path().string() + ":$PATH " +
                              (place / "lib/program").string() +
                              " --gtest_filter=PrivateServerProgram.Starts > /dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_FALSE(fs::exists(place / "started"));
  fs::remove_all(place);
}

TEST(LockedTempDirectory, IsRemovedWithoutHolder) {
  std::string const prefix = "mpix-nam-" + std::to_string(::getpid()) + "-held-";
  LockedTempDirectory held = make_locked_temp_directory(prefix);
  LockedTempDirectory abandoned = make_locked_temp_directory(prefix);
  fs::create_directories(abandoned.path / "within/it");
  abandoned.held = FileDescriptor();
  fs::remove(make_locked_temp_directory("other-" + prefix).path);
  EXPECT_TRUE(fs::exists(abandoned.path));
  fs::remove(make_locked_temp_directory(prefix).path);
  EXPECT_FALSE(fs::exists(abandoned.path));
  EXPECT_TRUE(fs::exists(held.path));
  fs::remove(held.path);
}

/// mkdtemp() needs no descriptor.
TEST(LockedTempDirectory, LackOfDescriptorsLeavesNoDirectory) {
  constexpr char const* prefix = "mpix-nam-starved-";
  EXPECT_TRUE(as_user(::geteuid(), [] {
    rlimit const none{0, 4096};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return false;
    ::alarm(60);
    return refusal([] { make_locked_temp_directory(prefix); }) == ErrorCode::unavailable;
  }));
  for (fs::directory_entry const& each : fs::directory_iterator(fs::temp_directory_path()))
    EXPECT_FALSE(each.path().filename().string().starts_with(prefix)) << each.path();
}

}  // namespace
}  // namespace mpixrma::nam
