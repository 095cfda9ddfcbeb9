/// Attacks on the memory of grants and on their storage files.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "nam/data/storage.hpp"
#include "nam/server/catalog.hpp"
#include "nam/server/database.hpp"
#include "nam/server/grant_file.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t stored_bytes = 10000;

/// Returns how many files of grants' memory the process has open.
int memory_files_of(pid_t process) {
  int found = 0;
  for (fs::directory_entry const& each : fs::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    std::error_code ignored;
    found += fs::read_symlink(each, ignored).string().starts_with("/memfd:mpix-nam") ? 1 : 0;
  }
  return found;
}

class StorageFileAttack : public ::testing::Test {
 protected:
  void SetUp() override {
    server.start(arguments);
    server.admit_all_users();
    grant = server.grant(grant_bytes, {{"owner", std::to_string(owner)}});
  }
  fs::path file(Locator const& of) const { return server.state / "memory" / (of.grant + ".storage"); }
  void restart_with(std::function<void()> const& meanwhile) {
    server.stop();
    meanwhile();
    server.start(arguments);
  }
  void expect_refused(char const* reason) const {
    EXPECT_TRUE(eventually([&] { return !server.show(grant).value("reason", std::string()).empty(); }));
    Json const shown = server.show(grant);
    EXPECT_FALSE(shown.at("ready").get<bool>());
    EXPECT_NE(shown.at("reason").get<std::string>().find(reason), std::string::npos) << shown.dump();
    EXPECT_EQ(shown.at("window_list").size(), 1u);
    EXPECT_EQ(refusal([&] { Session::open(grant); }), ErrorCode::unavailable);
  }
  Json repair(bool new_file) const {
    return server.ask({{"op", "repair"}, {"grant", grant.grant}, {"new_file", new_file}});
  }
  bool is_ready() const {
    return eventually([&] { return server.show(grant).at("ready").get<bool>(); });
  }

  static constexpr std::uint64_t grant_bytes = 1u << 20;
  TestServer::Arguments const arguments{"--size", "64M", "--listen", "none", "--storage", "file"};
  TestServer server;
  Locator grant;
};

TEST_F(StorageFileAttack, MissingFileMakesTheGrantNotReady) {
  std::string const port = make_persistent(grant, stored_bytes, 1, {.durability = Durability::storage}).port;
  fs::path const aside = server.directory() / "aside";
  restart_with([&] { fs::rename(file(grant), aside); });
  expect_refused("is missing");
  EXPECT_FALSE(fs::exists(file(grant)));
  fs::rename(aside, file(grant));
  repair(false);
  ASSERT_TRUE(is_ready());
  expect_pattern(port, stored_bytes, 1);
}

/// The control process dies after it has removed the grant from the catalog, and before it has ended the
/// grant.
TEST_F(StorageFileAttack, GrantOfInterruptedRevocationEnds) {
  (void)make_persistent(grant, stored_bytes, 1);
  Locator const other = server.grant(grant_bytes);
  std::string const port = make_persistent(other, stored_bytes, 3).port;
  pid_t const process = server.data_process(grant);
  pid_t const control = server.control_process();
  stop_process(server.pid());
  ::kill(control, SIGKILL);
  GrantFile(file(grant), {}).mark_for_removal();
  GrantFile(file(other), {}).mark_for_removal();
  Catalog(server.state / "catalog.sqlite").remove_grant(grant.grant);
  ::kill(server.pid(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return server.answers() && server.control_process() != control; }));
  EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
  EXPECT_EQ(memory_files_of(server.pid()), 3)
      << "memory, control block and list of segments of the other grant";
  EXPECT_TRUE(eventually([&] { return server.ask({{"op", "usage"}}).at("ending_grants") == 0; }));
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("granted"), server.show(other).at("bytes"));
  EXPECT_FALSE(fs::exists(file(grant)));
  expect_pattern(port, stored_bytes, 3);
  restart_with([] {});
  expect_pattern(port, stored_bytes, 3);
  for (fs::directory_entry const& each : fs::directory_iterator(server.state / "memory"))
    EXPECT_EQ(each.path(), file(other));
}

/// Windows of a new file would be zero.
TEST_F(StorageFileAttack, FileIsNotReplacedWithoutTheCatalog) {
  std::string const port = make_persistent(grant, stored_bytes, 1).port;
  fs::path const aside = server.directory() / "aside";
  restart_with([&] { fs::rename(file(grant), aside); });
  expect_refused("is missing");
  {
    Database catalog(server.state / "catalog.sqlite", Database::Mode::existing);
    Transaction const lock(catalog);
    EXPECT_EQ(refusal([&] { repair(true); }), ErrorCode::unavailable);
    EXPECT_FALSE(fs::exists(file(grant).string() + ".new"));
  }
  fs::rename(aside, file(grant));
  repair(false);
  ASSERT_TRUE(is_ready());
  expect_pattern(port, stored_bytes, 1);
}

TEST_F(StorageFileAttack, EmptyFileMakesTheGrantNotReadyUntilItIsReplaced) {
  (void)make_persistent(grant, stored_bytes, 1);
  restart_with([&] { fs::resize_file(file(grant), 0); });
  expect_refused("is empty");
  EXPECT_EQ(fs::file_size(file(grant)), 0u);
  repair(false);
  expect_refused("is empty");
  repair(true);
  ASSERT_TRUE(is_ready());
  EXPECT_TRUE(server.show(grant).at("window_list").empty());
  EXPECT_TRUE(fs::exists(file(grant).string() + ".damaged"));
  std::string const port = make_persistent(grant, stored_bytes, 5).port;
  restart_with([] {});
  expect_pattern(port, stored_bytes, 5);
}

TEST_F(StorageFileAttack, FileOfAnotherGrantMakesTheGrantNotReady) {
  Locator const other = server.grant(grant_bytes);
  (void)make_persistent(grant, stored_bytes, 1);
  restart_with([&] { fs::copy_file(file(other), file(grant), fs::copy_options::overwrite_existing); });
  expect_refused("identity");
}

TEST_F(StorageFileAttack, RejectsFileOfZeroes) {
  (void)make_persistent(grant, stored_bytes, 1);
  restart_with([&] {
    std::uint64_t const bytes = fs::file_size(file(grant));
    fs::resize_file(file(grant), 0);
    fs::resize_file(file(grant), bytes);
  });
  expect_refused("identity");
}

TEST_F(StorageFileAttack, RepairIsForAdministrators) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  (void)make_persistent(grant, stored_bytes, 1);
  restart_with([&] { fs::remove(file(grant)); });
  expect_refused("is missing");
  EXPECT_TRUE(as_user(owner, [&] { return refusal([&] { repair(true); }) == ErrorCode::denied; }));
}

TEST_F(StorageFileAttack, FileOfEarlierServerIsAdopted) {
  std::string const port = make_persistent(grant, stored_bytes, 1).port;
  fs::path const before = server.state / "memory" / (grant.grant + ".memory");
  restart_with([&] {
    // Such a file has no identity, and another name, which is in the catalog.
    std::ofstream(before, std::ios::binary) << std::ifstream(file(grant), std::ios::binary).rdbuf();
    fs::resize_file(before, grant_bytes);
    fs::remove(file(grant));
    Database catalog(server.state / "catalog.sqlite", Database::Mode::create);
    catalog.run(("UPDATE grants SET file = '" + before.string() + "'").c_str());
  });
  ASSERT_TRUE(is_ready());
  expect_pattern(port, stored_bytes, 1);
  EXPECT_GT(fs::file_size(before), grant_bytes);
  restart_with([&] { fs::resize_file(before, grant_bytes); });
  expect_refused("bytes, expected");
}

TEST_F(StorageFileAttack, OrderlyEndSavesWindowsWithoutPersist) {
  std::string port;
  {
    Session session = Session::open(grant);
    WindowInfo const window = session.allocate({stored_bytes}, {1}, {.persistent = true});
    port = window.port;
    GrantMapping const memory = session.map();
    std::memset(memory.base() + window.regions[0].offset, 0x5a, stored_bytes);
  }
  restart_with([] {});
  WindowInfo window;
  Session session = Session::connect(port, &window);
  EXPECT_EQ(content(session, window, 0), std::vector(stored_bytes, std::byte{0x5a}));
}

TEST_F(StorageFileAttack, MemoryAndFileAreBothCounted) {
  std::uint64_t const disk = server.show(grant).at("disk").get<std::uint64_t>();
  EXPECT_GE(disk, grant_bytes);
  EXPECT_LE(disk, grant_bytes + (1u << 16));
  Json const usage = server.ask({{"op", "usage"}});
  EXPECT_EQ(usage.at("granted"), grant_bytes);
  EXPECT_EQ(usage.at("disk"), disk);
  server.ask({{"op", "revoke"}, {"grant", grant.grant}});
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("disk"), 0);
}

TEST_F(StorageFileAttack, NewWindowIsZeroInFileOfEarlierWindow) {
  std::string const before = make_persistent(grant, grant_bytes / 4, 1).port;
  (void)make_persistent(grant, grant_bytes / 4, 2);
  (void)server.ask({{"op", "evict"}, {"port", before}});
  Session session = Session::open(grant);
  WindowInfo const window = session.allocate({grant_bytes / 4}, {1}, {.persistent = true});
  pid_t const process = server.data_process(grant);
  server.kill();
  ::kill(process, SIGKILL);
  EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
  server.start(arguments);
  WindowInfo found;
  Session reader = Session::connect(window.port, &found);
  EXPECT_EQ(content(reader, found, 0), std::vector<std::byte>(grant_bytes / 4));
}

/// Whether each way to change the length of the file, or to write beyond its end, is rejected.
bool has_fixed_length(FileDescriptor const& file) {
  struct stat before {};
  if (::fstat(file.get(), &before) != 0) return false;
  char const byte = 1;
  bool const refused = ::ftruncate(file.get(), 0) != 0 && ::ftruncate(file.get(), before.st_size * 2) != 0 &&
                       ::fallocate(file.get(), 0, before.st_size, 1 << 20) != 0 &&
                       ::pwrite(file.get(), &byte, 1, before.st_size + 4096) != 1;
  struct stat after {};
  return refused && ::fstat(file.get(), &after) == 0 && after.st_size == before.st_size;
}

class MemoryAttack : public ::testing::TestWithParam<char const*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, MemoryAttack, ::testing::Values("memory", "file"));

TEST_P(MemoryAttack, OwnerCannotChangeLengthOfMemory) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--storage", GetParam()});
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
  std::string const port = make_persistent(grant, stored_bytes, 1).port;
  pid_t const process = server.data_process(grant);
  EXPECT_TRUE(as_user(owner, [&] {
    std::vector<FileDescriptor> const descriptors = mapped(grant);
    return descriptors.size() == 2 && std::all_of(descriptors.begin(), descriptors.end(), has_fixed_length);
  }));
  expect_pattern(port, stored_bytes, 1);
  EXPECT_EQ(server.data_process(grant), process);
}

/// The owner of a grant may write every byte of the control block.
TEST_P(MemoryAttack, ForgedControlBlockDoesNotAffectProcesses) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--storage", GetParam()});
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, stored_bytes, 1).port;
  pid_t const process = server.data_process(grant);
  std::vector<FileDescriptor> const descriptors = mapped(grant);
  struct stat status {};
  ASSERT_EQ(::fstat(descriptors.at(1).get(), &status), 0);
  auto const bytes = static_cast<std::size_t>(status.st_size);
  auto const forge = [&](int value) {
    void* const block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[1].get(), 0);
    ASSERT_NE(block, MAP_FAILED);
    // Overwrites the mark, the number of slots, all slots and most update modes, but no stripe lock.
    std::memset(block, value, 16);
    std::memset(static_cast<char*>(block) + 16384, value, bytes - 16384);
    ::munmap(block, bytes);
  };
  constexpr int hole = -1;  // the pages are taken out of the file
  for (int const value : {0xff, 0x00, 0x7f, hole}) {
    if (value != hole) forge(value);
    if (value == hole) {
      int const mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
      ASSERT_EQ(::fallocate(descriptors[1].get(), mode, 0, status.st_size), 0);
    }
    Session session = Session::open(grant);
    std::array<WindowInfo, 3> windows;
    for (WindowInfo& window : windows) window = session.allocate({100}, {1});
    EXPECT_NE(windows[0].slot, windows[1].slot);
    EXPECT_NE(windows[1].slot, windows[2].slot);
    WindowInfo beyond = windows[0];
    beyond.slot = 4000000;
    session.unlock_soon(beyond, 1, 0);
    for (WindowInfo const& window : windows) session.release(window);
    expect_pattern(port, stored_bytes, 1);
  }
  EXPECT_EQ(server.data_process(grant), process);
  forge(0xff);
  ::kill(process, SIGKILL);
  EXPECT_TRUE(eventually([&] { return server.data_process(grant) != process; }));
  expect_pattern(port, stored_bytes, 1);
  EXPECT_EQ(server.show(grant).at("reason"), "");
}

TEST_F(StorageFileAttack, TruncatedFileFailsRequestsAndEndsNoProcess) {
  std::string const port = make_persistent(grant, stored_bytes, 1).port;
  pid_t const process = server.data_process(grant);
  fs::resize_file(file(grant), 0);
  WindowInfo window;
  Session session = Session::connect(port, &window);
  session.write(window, 0, 0, pattern(stored_bytes, 9));
  EXPECT_EQ(refusal([&] { session.persist(window); }), ErrorCode::unavailable);
  EXPECT_EQ(content(session, window, 0), pattern(stored_bytes, 9));
  EXPECT_EQ(fs::file_size(file(grant)), 0u);
  EXPECT_EQ(server.data_process(grant), process);
}

TEST(StorageFaults, MissingMemoryIsAnErrorOfTheRequest) {
  constexpr std::uint64_t bytes = 1u << 20;
  FileDescriptor file(::memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), bytes), 0);
  FileDescriptor const same(::dup(file.get()));
  Storage storage(StorageKind::memory, bytes, std::move(file));
  std::vector<std::byte> values(8192, std::byte{7});
  storage.write(0, values);
  ASSERT_EQ(::ftruncate(same.get(), 4096), 0);
  EXPECT_EQ(refusal([&] { storage.write(0, values); }), ErrorCode::unavailable);
  EXPECT_EQ(refusal([&] { storage.read(0, values); }), ErrorCode::unavailable);
  EXPECT_EQ(refusal([&] { storage.read(bytes - 4096, std::span(values).first(1)); }), ErrorCode::unavailable);
  EXPECT_EQ(refusal([&] { storage.read(0, std::span(values).first(4096)); }), std::nullopt);
}

}  // namespace
}  // namespace mpixrma::nam
