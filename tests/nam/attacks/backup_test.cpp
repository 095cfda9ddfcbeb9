/// Files of mpix-nam backup and restore: root runs these in directories of other users and beside other
/// files.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

class Backup : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    server.start();
    server.admit_all_users();
    grant = server.grant(1u << 20);
    port = make_persistent(grant, 100, 1).port;
    for (auto const& [path, user] : {std::pair(foreign, stranger), std::pair(own, uid_t{0})}) {
      std::filesystem::create_directory(path);
      ASSERT_EQ(::chown(path.c_str(), user, user), 0);
    }
    std::ofstream(own / "victim") << "mine";
  }
  /// Creates a symbolic link as if the stranger did.
  void set_link(std::filesystem::path const& target, std::filesystem::path const& at) const {
    std::filesystem::create_symlink(target, at);
    ASSERT_EQ(::lchown(at.c_str(), stranger, stranger), 0);
  }
  ToolRun tool(std::string const& arguments) const { return run_tool(server, arguments); }
  ToolRun back_up(std::filesystem::path const& file) const {
    return tool("backup '" + port + "' " + file.string());
  }
  static std::string text_of(std::filesystem::path const& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool is_whole(std::filesystem::path const& file) const {
    return tool("restore --dry-run " + grant.grant + " " + file.string()).exit_code == 0;
  }

  TestServer server;
  Locator grant;
  std::string port;
  std::filesystem::path const foreign = server.directory() / "foreign";
  std::filesystem::path const own = server.directory() / "own";
};

TEST_F(Backup, DoesNotFollowLinkInPlaceOfItsFile) {
  set_link(own / "victim", foreign / "link");
  EXPECT_EQ(back_up(foreign / "link").exit_code, 2);
  EXPECT_EQ(text_of(own / "victim"), "mine");
  EXPECT_TRUE(std::filesystem::is_symlink(foreign / "link"));
  EXPECT_EQ(back_up(foreign / "saved").exit_code, 0);
  EXPECT_TRUE(is_whole(foreign / "saved"));
  struct stat status {};
  ASSERT_EQ(::stat((foreign / "saved").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(Backup, ReplacesRegularFilesAlone) {
  ASSERT_EQ(::mkfifo((own / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mknod((own / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  std::filesystem::create_symlink("victim", own / "link");
  for (char const* const name : {"pipe", "device", "link", ".", ""}) {
    auto const type = std::filesystem::symlink_status(own / name).type();
    EXPECT_EQ(back_up(own / name).exit_code, 2) << name;
    EXPECT_EQ(std::filesystem::symlink_status(own / name).type(), type) << name;
  }
  EXPECT_EQ(back_up(own / "victim").exit_code, 0);
  EXPECT_TRUE(is_whole(own / "victim"));
}

TEST_F(Backup, IsNotWrittenToDirectoryOfAnotherUser) {
  set_link(own, foreign / "link");
  std::filesystem::create_symlink(foreign / "link", own / "link");  // root's, over the stranger's
  for (auto const& way : {foreign / "link", own / "link"}) {
    EXPECT_NE(back_up(way / "saved").exit_code, 0) << way;
    EXPECT_FALSE(std::filesystem::exists(own / "saved"));
    EXPECT_FALSE(std::filesystem::exists(own / "saved.unfinished"));
  }
  std::filesystem::create_symlink("../own/./", own / "self");  // links of root are followed
  EXPECT_EQ(back_up(own / "self" / "saved").exit_code, 0);
  EXPECT_TRUE(is_whole(own / "saved"));
}

TEST_F(Backup, OtherFilesAreNotRestored) {
  for (char const* const text :
       {"", "no window", "{}", "[1]", R"({"format": "mpix-nam window 1"})",
        R"({"format": "mpix-nam window 1", "durability": "forever", "sizes": [1]})",
        R"({"format": "mpix-nam window 1", "durability": "clients", "sizes": [], "units": []})",
        R"({"format": "mpix-nam window 1", "durability": "clients", "sizes": [0, 0], "units": [1]})",
        R"({"format": "mpix-nam window 1", "durability": "clients", "sizes": [0], "units": [0]})",
        R"({"format": "mpix-nam window 1", "durability": "clients",)"
        R"( "sizes": [18446744073709551615, 1], "units": [1, 1]})"}) {
    std::ofstream(own / "other") << text << "\n";
    ToolRun const run = tool("restore " + grant.grant + " " + (own / "other").string());
    EXPECT_NE(run.exit_code, 0) << text;
    EXPECT_NE(run.output.find("other is not a window that mpix-nam has saved"), std::string::npos)
        << text << ": " << run.output;
  }
}

/// Otherwise the stranger could read the file of root in a window of his grant.
TEST_F(Backup, IsNotRestoredFromFileOfAnotherUser) {
  ASSERT_EQ(back_up(own / "saved").exit_code, 0);
  std::filesystem::permissions(own, std::filesystem::perms(0700));
  set_link(own / "saved", foreign / "saved");
  set_link(own, foreign / "link");
  Locator const theirs = server.grant(1u << 20, {{"owner", std::to_string(stranger)}});
  for (auto const& way : {foreign / "saved", foreign / "link" / "saved"})
    EXPECT_NE(tool("restore " + theirs.grant + " " + way.string()).exit_code, 0) << way;
  EXPECT_TRUE(server.show(theirs).at("window_list").empty());
  std::filesystem::create_symlink("saved", own / "self");
  EXPECT_TRUE(is_whole(own / "self"));
  EXPECT_TRUE(is_whole("/dev/fd/3 3< " + (own / "saved").string()));
}

TEST_F(Backup, LeavesOtherFilesAlone) {
  std::ofstream(own / "saved.unfinished") << "mine, too";
  EXPECT_EQ(back_up(own / "saved").exit_code, 0);
  EXPECT_TRUE(is_whole(own / "saved"));
  EXPECT_EQ(text_of(own / "saved.unfinished"), "mine, too");
  std::filesystem::directory_iterator const files(own);
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);  // with "victim"
}

}  // namespace
}  // namespace mpixrma::nam
