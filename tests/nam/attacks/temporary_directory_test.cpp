/// The directory of a job's server, in a directory in which others can rename directories that are not
/// theirs.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/nam/server_fixture.hpp"

namespace mpixrma::nam {
namespace {

namespace fs = std::filesystem;

/// Directories that killed jobs have left are recognised by their names alone.
TEST(TemporaryDirectory, KeepsDirectoryThatMayBeRenamed) {
  constexpr char const* prefix = "mpix-nam-renamed-";
  if (fs::status("/tmp").permissions() != fs::perms(01777)) GTEST_SKIP() << "/tmp is not the usual one";
  LockedTempDirectory const shared = make_locked_temp_directory("mpix-nam-test-");
  fs::path const renamed = shared.path / (prefix + std::string("results"));
  fs::create_directory(renamed);
  std::ofstream(renamed / "data") << "x";
  fs::permissions(shared.path, fs::perms(0777));
  char const* const former = std::getenv("TMPDIR");
  std::string const kept = former != nullptr ? former : "";
  ::setenv("TMPDIR", shared.path.c_str(), 1);
  LockedTempDirectory const elsewhere = make_locked_temp_directory(prefix);
  EXPECT_TRUE(fs::exists(renamed / "data"));
  EXPECT_EQ(elsewhere.path.parent_path(), "/tmp");
  fs::permissions(shared.path, fs::perms(01777));
  LockedTempDirectory const there = make_locked_temp_directory(prefix);
  EXPECT_FALSE(fs::exists(renamed));
  EXPECT_EQ(there.path.parent_path(), shared.path);
  former != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  for (fs::path const& each : {elsewhere.path, shared.path}) fs::remove_all(each);
}

}  // namespace
}  // namespace mpixrma::nam
