/// The server and its tool are started by a process with a hostile environment: a working directory and a
/// home directory that others can write, and a umask.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "nam/protocol/socket.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"

namespace mpixrma::nam {

namespace {

namespace fs = std::filesystem;

/// A directory of an attacker, in which an administrator starts programs.
class StartDirectory : public ::testing::Test {
 protected:
  StartDirectory() : made_(make_locked_temp_directory("mpix-nam-test-")) {}
  ~StartDirectory() override { fs::remove_all(made_.path); }

  fs::path const& directory() const { return made_.path; }
  fs::path written() const { return directory() / "written"; }

  /// Writes a ucx.conf that makes UCX create the file written() as soon as UCX is loaded.
  void configure_ucx() const {
    std::ofstream(directory() / "ucx.conf") << "UCX_LOG_FILE=" << written().string() << "\n";
  }
  /// Starts `program`, which prints its version. Returns its exit code.
  int start(std::string const& program, std::string const& environment = "") const {
    std::string const line = "cd " + directory().string() + " && env " + environment + " " + program +
                             " --version > /dev/null 2>&1";
    int const status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  LockedTempDirectory made_;
};

}  // namespace

TEST_F(StartDirectory, ConfiguresNoLibrary) {
  configure_ucx();
  for (char const* const program : {MPIX_NAMD, MPIX_NAM_TOOL}) {
    EXPECT_EQ(start(program), 0);
    EXPECT_FALSE(fs::exists(written())) << program;
  }
}

TEST_F(StartDirectory, HasNoLibraries) {
  for (char const* const name : {"libsqlite3.so.0", "libsodium.so.23", "libc.so.6"})
    std::ofstream(directory() / name) << "no library\n";
  EXPECT_EQ(start(MPIX_NAMD), 0);
  EXPECT_EQ(start(MPIX_NAM_TOOL), 0);
}

/// Paths are relative to the directory in which the program was started.
TEST_F(StartDirectory, IsThatOfRelativePaths) {
  TestServer server;
  server.start();
  server.stop();
  std::string const line =
      "cd " + server.directory().string() + " && " MPIX_NAM_TOOL " check --directory state > /dev/null";
  EXPECT_EQ(std::system(line.c_str()), 0);
}

/// An administrator has changed from another user's account, and HOME is still that user's.
TEST_F(StartDirectory, HomeOfAnotherUserConfiguresNoLibrary) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a directory of another user";
  configure_ucx();
  std::string const home = "--chdir=/ HOME=" + directory().string();
  EXPECT_EQ(start(MPIX_NAM_TOOL, home), 0);
  EXPECT_TRUE(fs::exists(written())) << "the home of the user himself configures UCX";
  fs::remove(written());
  ASSERT_EQ(::chown(directory().c_str(), attacker, attacker), 0);
  EXPECT_EQ(start(MPIX_NAM_TOOL, home), 0);
  EXPECT_FALSE(fs::exists(written()));
}

/// The other user would choose where the secret of the administrator goes, for example by a symbolic link.
TEST_F(StartDirectory, HomeOfAnotherUserGetsNoSecret) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a directory of another user";
  TestServer server;
  server.start();
  std::string const home = "HOME=" + directory().string();
  std::string const command = "env " + home + " " MPIX_NAM_TOOL " --server " + server.address().unix_path +
                              " secret > /dev/null 2>&1";
  ASSERT_EQ(::chown(directory().c_str(), attacker, attacker), 0);
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_FALSE(fs::exists(directory() / ".config"));
  ASSERT_EQ(::chown(directory().c_str(), 0, 0), 0);
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(fs::exists(directory() / ".config/mpix-nam/secret"));
}

namespace {

unsigned mode_of(fs::path const& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 ? status.st_mode & 07777u : 0;
}

/// Some callers start services without a umask, others with a umask that denies everything to other users.
class CallersMask : public StartDirectory {
 protected:
  fs::path socket() const { return directory() / "run/socket"; }
  /// Starts a server, and returns when its socket is there.
  void start_server(char const* mask) {
    std::string const at = directory().string();
    std::string const line = std::string("umask ") + mask + "; exec " MPIX_NAMD " --size 1M --listen none " +
                             "--directory " + at + "/state --socket " + socket().string() + " --log-file " +
                             at + "/log --storage file --storage-directory " + at + "/data/files";
    server_ = ::fork();
    if (server_ == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    ASSERT_TRUE(eventually([this] {
      return refusal([this] { Client({socket(), "", 0}); }) == std::nullopt;
    }));
  }
  ~CallersMask() override {
    ::kill(server_, SIGTERM);
    (void)::waitpid(server_, nullptr, 0);
  }
  unsigned mode_in_directory(char const* name) const { return mode_of(directory() / name); }

 private:
  pid_t server_ = -1;
};

}  // namespace

class EveryMask : public CallersMask, public ::testing::WithParamInterface<char const*> {};

TEST_P(EveryMask, AdmitsOtherUsersToTheSocketOnly) {
  start_server(GetParam());
  EXPECT_EQ(mode_in_directory("run/socket"), 0666u);
  EXPECT_EQ(mode_in_directory("run"), 0755u);
  EXPECT_EQ(mode_in_directory("data") & 0022u, 0u);
  EXPECT_EQ(mode_in_directory("data/files"), 0700u);
  EXPECT_EQ(mode_in_directory("state"), 0700u);
}

INSTANTIATE_TEST_SUITE_P(Masks, EveryMask, ::testing::Values("000", "022", "077"),
                         [](auto const& mask) { return std::string("Mask") + mask.param; });

/// The owner of the directory exchanges the socket for a link as soon as the socket exists.
TEST(UnixSocket, HasItsModeWithoutChangingOtherFiles) {
  LockedTempDirectory const directory = make_locked_temp_directory("mpix-nam-test-");
  fs::path const file = directory.path / "file";
  fs::path const link = directory.path / "link";
  fs::path const socket = directory.path / "socket";
  std::ofstream(file) << "of the server's user\n";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  std::atomic<bool> ends{false};
  std::thread attack([&] {
    while (!ends) (void)::renameat2(AT_FDCWD, link.c_str(), AT_FDCWD, socket.c_str(), RENAME_EXCHANGE);
  });
  for (int i = 0; i < 500 && mode_of(file) == 0600; ++i) {
    fs::remove(link);
    fs::remove(socket);
    fs::create_symlink(file, link);
    EXPECT_TRUE(bind_unix(socket.string(), 0666));
  }
  ends = true;
  attack.join();
  EXPECT_EQ(mode_of(file), 0600u);
  fs::remove_all(directory.path);
}

}  // namespace mpixrma::nam
