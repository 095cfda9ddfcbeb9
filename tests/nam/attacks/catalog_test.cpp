/// Attacks on the catalog: a catalog that another process locks, repairs of a catalog in use.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "nam/server/calendar.hpp"
#include "nam/server/database.hpp"
#include "nam/server/exit_codes.hpp"
#include "tests/nam/attacks/catalogs.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

TEST_F(Catalogs, LockOfAnotherProcessDelaysExpiry) {
  server_.start({"--size", "64M", "--listen", "none", "--expiry-grace", "0"});
  Locator const grant = server_.grant(1u << 20, {{"seconds", 1}});
  {
    Database other(catalog(), Database::Mode::existing);
    Transaction const lock(other);
    EXPECT_TRUE(
        eventually([&] { return !runs() || log().find("cannot be deleted now") != std::string::npos; }));
    ASSERT_TRUE(runs()) << log();
    EXPECT_TRUE(is_listed(grant));
    EXPECT_EQ(refusal([&] { server_.grant(1u << 20); }), ErrorCode::unavailable);
  }
  EXPECT_TRUE(eventually([&] { return !is_listed(grant); }));
  (void)server_.grant(1u << 20);
}

/// The clock of the machine is ahead: all grants have expired when the server starts.
TEST_F(Catalogs, WrongClockAtStartDeletesNoGrant) {
  TestServer::Arguments const on_files{"--size", "64M", "--listen", "none", "--storage", "file"};
  server_.start(on_files);
  Locator const grant = server_.grant(1u << 20, {{"seconds", 3600}});
  std::string const port = make_persistent(grant, 100, 1).port;
  server_.stop();
  Database(catalog(), Database::Mode::existing).run("UPDATE grants SET expires = 1000");
  server_.start(on_files);
  auto const left = [&] { return server_.show(grant).value("deleted_in", std::int64_t{600}); };
  EXPECT_TRUE(eventually([&] { return left() < 598; }));
  EXPECT_EQ(server_.show(grant).at("state"), "expired");
  expect_pattern(port, 100, 1);
  server_.ask({{"op", "extend"}, {"grant", grant.grant}, {"seconds", 3600}});
  EXPECT_EQ(server_.show(grant).at("state"), "ready");
  EXPECT_FALSE(server_.show(grant).contains("deleted_in"));
}

class CalendarTest : public ::testing::Test {
 protected:
  std::int64_t real_ = 1'000'000;
  std::int64_t boot_ = 50;
  Calendar calendar_{{[this] { return real_; }, [this] { return boot_; }}};

  void pass(std::int64_t seconds) {
    real_ += seconds;
    boot_ += seconds;
  }
};

TEST_F(CalendarTest, DetectsJumpsOfTheClock) {
  pass(10);
  EXPECT_EQ(calendar_.follow(), 0);
  EXPECT_EQ(calendar_.now(), 1'000'010);
  ++real_;  // the clocks change their seconds at different moments
  EXPECT_EQ(calendar_.follow(), 0);
  real_ += 100'000;
  EXPECT_EQ(calendar_.follow(), 100'001);
  EXPECT_EQ(calendar_.now(), real_);
  EXPECT_EQ(calendar_.follow(), 0);
  real_ -= 100'000;
  EXPECT_EQ(calendar_.follow(), -100'000);
  EXPECT_EQ(calendar_.now(), real_);
}

TEST_F(CalendarTest, GracePeriodRestartsAfterJump) {
  GracePeriod grace;
  std::int64_t const expires = real_ + 5;
  auto const tick = [&](std::int64_t seconds) {
    pass(seconds);
    if (calendar_.follow() != 0) grace.restart();
    grace.note(expires <= calendar_.now(), calendar_.uptime());
    return grace.is_over(600, calendar_.uptime());
  };
  EXPECT_FALSE(tick(4));
  EXPECT_FALSE(grace.has_begun());
  real_ += 1'000'000;
  EXPECT_FALSE(tick(1));
  EXPECT_TRUE(grace.has_begun());
  EXPECT_FALSE(tick(599));
  real_ += 1000;
  EXPECT_FALSE(tick(1));
  EXPECT_FALSE(tick(599));
  real_ -= 2'000'000;  // set right
  EXPECT_FALSE(tick(1));
  EXPECT_FALSE(grace.has_begun());
  real_ += 2'000'000;
  EXPECT_FALSE(tick(1));
  EXPECT_EQ(grace.left(600, calendar_.uptime()), 600);
  EXPECT_FALSE(tick(599));
  EXPECT_TRUE(tick(1));
}

TEST_F(Catalogs, RepairKeepsCatalogOfRunningServer) {
  TestServer::Arguments const on_files{"--size", "64M", "--listen", "none", "--storage", "file"};
  server_.start(on_files);
  Locator const grant = server_.grant(1u << 20);
  std::string const port = make_persistent(grant, 100, 1).port;
  EXPECT_EQ(check("--repair"), exit_taken);
  std::string const later = make_persistent(grant, 100, 5).port;
  server_.kill();
  server_.start(on_files);
  expect_pattern(port, 100, 1);
  expect_pattern(later, 100, 5);
  EXPECT_FALSE(std::filesystem::exists(catalog().string() + ".damaged"));
  server_.stop();
  EXPECT_EQ(check(""), exit_ok) << "the storage file is as the server has made it";
}

/// Overwrites a part of the file; the destructor restores that part.
class Damage {
 public:
  explicit Damage(std::filesystem::path const& file)
      : file_(file, std::ios::in | std::ios::out | std::ios::binary),
        at_(static_cast<std::streamoff>(std::filesystem::file_size(file) / 2)),
        before_(10000, '\0') {
    file_.seekg(at_);
    file_.read(before_.data(), static_cast<std::streamsize>(before_.size()));
    write(std::string(before_.size(), '\x5a'));
  }
  ~Damage() { write(before_); }
  Damage(Damage const&) = delete;
  Damage& operator=(Damage const&) = delete;

 private:
  void write(std::string const& bytes) {
    file_.seekp(at_);
    file_ << bytes << std::flush;
    EXPECT_TRUE(file_.good());
  }

  std::fstream file_;
  std::streamoff at_;
  std::string before_;
};

TEST_F(Catalogs, RepairKeepsLockedOrForbiddenCatalog) {
  server_.start();
  {
    Session session = Session::open(server_.grant(16u << 20));
    for (int i = 0; i < 200; ++i) (void)session.allocate({8}, {1}, {.persistent = true});
  }
  server_.stop();
  auto const inode = [&] {
    struct stat status {};
    return ::stat(catalog().c_str(), &status) == 0 ? status.st_ino : 0;
  };
  auto const before = inode();
  {
    Database other(catalog(), Database::Mode::existing);
    other.run("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE");
    Damage const damage(catalog());  // a sound catalog is never replaced
    EXPECT_NE(check("--repair"), exit_ok);
  }
  EXPECT_EQ(inode(), before);
  EXPECT_FALSE(std::filesystem::exists(catalog().string() + ".damaged"));
  if (is_root()) {
    server_.admit_all_users();
    EXPECT_TRUE(as_user(attacker, [&] { return check("--repair") != exit_ok; }));
    EXPECT_EQ(inode(), before);
  }
  EXPECT_EQ(check("--repair"), exit_ok);
  EXPECT_EQ(inode(), before);
}

/// Returns the bytes of the file.
std::string bytes_of(std::filesystem::path const& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// With the rights of root, a repair would follow links that the directory's owner has put there.
TEST_F(Catalogs, RepairHasTheRightsOfTheOwnerOfTheDirectory) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  server_.start();
  server_.stop();
  server_.admit_all_users();
  std::filesystem::path const secret = server_.directory() / "of root";
  std::ofstream(secret) << std::string(100000, 'x');
  std::filesystem::permissions(secret, std::filesystem::perms(0600));
  std::filesystem::path const away = server_.state / "away";
  std::filesystem::rename(catalog(), away);
  std::filesystem::create_symlink(secret, catalog());
  for (auto const& each : std::filesystem::recursive_directory_iterator(server_.state))
    ASSERT_EQ(::lchown(each.path().c_str(), attacker, attacker), 0);
  ASSERT_EQ(::lchown(server_.state.c_str(), attacker, attacker), 0);
  auto const is_of_attacker = [](std::filesystem::directory_entry const& each) {
    struct stat status {};
    return ::lstat(each.path().c_str(), &status) == 0 && status.st_uid == attacker;
  };
  auto const all_are = [&] {
    return std::all_of(std::filesystem::directory_iterator(server_.state), {}, is_of_attacker);
  };
  EXPECT_NE(check("--repair"), exit_ok);
  EXPECT_TRUE(all_are()) << "root has copied its file there";
  std::filesystem::rename(away, catalog());
  std::ofstream(catalog(), std::ios::in | std::ios::out | std::ios::binary).seekp(100)
      << std::string(3000, '\x5a');
  EXPECT_EQ(check("--repair"), exit_ok);
  EXPECT_TRUE(std::filesystem::exists(catalog().string() + ".damaged"));
  EXPECT_TRUE(all_are());
}

/// Otherwise several users could exchange the directory.
TEST_F(Catalogs, RepairByRootNeedsOneOwnerOfTheDirectory) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  server_.start();
  server_.stop();
  server_.admit_all_users();
  EXPECT_EQ(check(""), exit_ok);
  ASSERT_EQ(::chown(server_.directory().c_str(), stranger, stranger), 0);
  ASSERT_EQ(::chown(server_.state.c_str(), attacker, attacker), 0);
  EXPECT_EQ(check(""), 7);
  ASSERT_EQ(::chown(server_.directory().c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(server_.state.c_str(), 0, 0), 0);
  std::filesystem::permissions(server_.directory(), std::filesystem::perms(0777));
  EXPECT_EQ(check(""), 7);
  std::filesystem::permissions(server_.directory(), std::filesystem::perms(01777));
  EXPECT_EQ(check(""), exit_ok);
}

TEST_F(Catalogs, RepairKeepsTheDamagedCatalogWithItsLog) {
  TestServer::Arguments const on_files{"--size", "64M", "--listen", "none", "--storage", "file"};
  server_.start(on_files);
  Locator const grant = server_.grant(16u << 20);
  {
    Session session = Session::open(grant);
    for (int i = 0; i < 200; ++i) (void)session.allocate({8}, {1}, {.persistent = true});
  }
  server_.stop();
  server_.start(on_files);
  std::string const port = make_persistent(grant, 100, 1).port;
  pid_t const process = server_.data_process(grant);
  server_.kill();
  ::kill(process, SIGKILL);
  ASSERT_GT(std::filesystem::file_size(catalog().string() + "-wal"), 0u);
  {
    std::fstream file(catalog(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(catalog()) / 2));
    file << std::string(10000, '\x5a');
  }
  std::string const main_bytes = bytes_of(catalog());
  std::string const log_bytes = bytes_of(catalog().string() + "-wal");
  (void)check("--repair");
  std::string const kept = catalog().string() + ".damaged";
  EXPECT_TRUE(bytes_of(kept) == main_bytes);
  EXPECT_TRUE(bytes_of(kept + "-wal") == log_bytes);
  server_.start(on_files);
  expect_pattern(port, 100, 1);
}

class DamagedRow : public Catalogs {
 protected:
  /// Changes a text in the row of the window, which SQLite does not detect as damage.
  void damage(std::string const& window) const {
    Database(catalog(), Database::Mode::existing)
        .run(("UPDATE windows SET body = replace(body, 'offset', 'offsat') WHERE id = '" + window + "'")
                 .c_str());
  }
  bool is_not_ready(Locator const& grant) const {
    Json const grants = server_.ask({{"op", "list"}}).at("grants");
    return std::any_of(grants.begin(), grants.end(), [&](Json const& each) {
      return each.at("grant") == grant.grant && each.at("state") == "not ready";
    });
  }

  TestServer::Arguments on_files_{"--size",    "64M",  "--listen",       "none",
                                  "--storage", "file", "--self-service", "1M"};
};

TEST_F(DamagedRow, KeepsOtherGrantsAndIsRepaired) {
  server_.start(on_files_);
  Locator const grant = server_.grant(1u << 20);
  WindowInfo const damaged = make_persistent(grant, 100, 1);
  std::string const sound = make_persistent(grant, 100, 5).port;
  std::string const other = make_persistent(server_.grant(1u << 20), 100, 7).port;
  server_.ask({{"op", "publish"}, {"name", "first"}, {"port", damaged.port}});
  server_.ask({{"op", "publish"}, {"name", "second"}, {"port", other}});
  server_.stop();
  damage(damaged.id);
  server_.start(on_files_);
  EXPECT_TRUE(eventually([&] { return is_not_ready(grant); }));
  EXPECT_EQ(refusal([&] { Session::open(grant); }), ErrorCode::unavailable);
  expect_pattern(other, 100, 7);
  Json const names = server_.ask({{"op", "names"}, {"all", true}}).at("names");
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names.at(0).at("name"), "second");
  server_.stop();
  EXPECT_NE(check(""), exit_ok);
  EXPECT_EQ(check("--repair"), exit_ok);
  EXPECT_TRUE(std::filesystem::exists(catalog().string() + ".damaged"));
  server_.start(on_files_);
  expect_pattern(sound, 100, 5);
  WindowInfo window;
  EXPECT_EQ(refusal([&] { Session::connect(damaged.port, &window); }), ErrorCode::not_found);
}

TEST_F(DamagedRow, RepairKeepsCreatorOfEachGrant) {
  if (!is_root()) GTEST_SKIP() << "needs another user";
  server_.start(on_files_);
  server_.admit_all_users();
  WindowInfo const damaged = make_persistent(server_.grant(1u << 20), 100, 1);
  ASSERT_TRUE(as_user(attacker, [&] { return server_.grant(4096).grant.size() == 32; }));
  server_.stop();
  damage(damaged.id);
  ASSERT_EQ(check("--repair"), exit_ok);
  server_.start(on_files_);
  EXPECT_TRUE(as_user(attacker, [&] {
    Json const own = server_.ask({{"op", "list"}}).at("grants").at(0);
    return server_.ask({{"op", "extend"}, {"grant", own.at("grant")}, {"seconds", 60}}).contains("grant");
  }));
}

TEST_F(Catalogs, OtherDatabaseIsRefusedAsDamaged) {
  server_.start();
  server_.stop();
  Database(catalog(), Database::Mode::existing).run("PRAGMA application_id=1");
  server_.spawn(TestServer::defaults());
  EXPECT_EQ(server_.exit_code(10000), exit_damaged);
}

/// If the server does not start with such a value, it starts after a repair.
TEST_F(DamagedRow, RandomValuesDoNotAffectOtherGrants) {
  std::mt19937_64 random(test::seed());
  auto const one_of = [&](std::vector<std::string> const& all) { return all[random() % all.size()]; };
  server_.start(on_files_);
  Locator const grant = server_.grant(1u << 20);
  std::string const window = make_persistent(grant, 100, 1).id;
  std::string const other = make_persistent(server_.grant(1u << 20), 100, 7).port;
  server_.stop();
  std::filesystem::path const sound = server_.directory() / "sound";
  std::filesystem::copy_file(catalog(), sound);
  for (int round = 0; round < 8; ++round) {
    std::filesystem::copy_file(sound, catalog(), std::filesystem::copy_options::overwrite_existing);
    std::string const value = one_of({"NULL", "0", "-1", "9223372036854775807", "1.5", "''", "'x'", "x'00ff'",
                                      "'{}'", "'[[['", "zeroblob(100000)", "'/dev/zero'"});
    std::string const change =
        round % 2 == 0
            ? "grants SET " + one_of({"owner", "bytes", "storage", "file", "created", "expires", "grantor"}) +
                  " = " + value + " WHERE id = '" + grant.grant + "'"
            : "windows SET " + one_of({"body", "grant_id"}) + " = " + value + " WHERE id = '" + window + "'";
    SCOPED_TRACE(change);
    (void)refusal([&] { Database(catalog(), Database::Mode::existing).run(("UPDATE " + change).c_str()); });
    server_.spawn(on_files_);
    std::optional<int> ended;
    ASSERT_TRUE(eventually([&] {
      ended = server_.exit_code(0);
      return ended || server_.answers();
    }));
    if (ended) {
      EXPECT_EQ(*ended, exit_damaged);
      (void)check("--repair");
      server_.start(on_files_);
    }
    expect_pattern(other, 100, 7);
    server_.stop();
  }
}

}  // namespace
}  // namespace mpixrma::nam
