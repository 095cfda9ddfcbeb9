/// Measured methods of copies: the rule that chooses, the measurement, and the file that keeps the result.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/tuning/copy_cache.hpp"
#include "engine/tuning/copy_measurement.hpp"
#include "engine/tuning/host_fingerprint.hpp"

namespace mpixrma::engine {
namespace {

namespace fs = std::filesystem;

constexpr auto never_stops = [] { return false; };

TEST(FastestCopyMethod, IsTheLeastMinimum) {
  EXPECT_EQ(fastest_copy_method({{{10, 10, 10}, {8, 8, 8}, {9, 9, 9}}}), CopyMethod::vector);
  EXPECT_EQ(fastest_copy_method({{{10, 10, 10}, {8, 8, 8}, {7, 7, 7}}}), CopyMethod::string);
  EXPECT_EQ(fastest_copy_method({{{10, 10, 10}, {}, {}}}), CopyMethod::library);
}

TEST(FastestCopyMethod, IsTheLibraryForASmallGain) {
  EXPECT_EQ(fastest_copy_method({{{100, 100, 100}, {98, 98, 98}, {}}}), CopyMethod::library);
  EXPECT_EQ(fastest_copy_method({{{100, 100, 100}, {96, 96, 96}, {}}}), CopyMethod::vector);
}

TEST(FastestCopyMethod, IsUnknownIfTimesAreSpread) {
  EXPECT_EQ(fastest_copy_method({{{10, 10, 10}, {7, 8, 8}, {}}}), std::nullopt);
  EXPECT_EQ(fastest_copy_method({{{9, 10, 10.5}, {8, 8, 8}, {}}}), std::nullopt);
  EXPECT_EQ(fastest_copy_method({{{10, 10, 10}, {8, 8, 30}, {}}}), CopyMethod::vector);
  EXPECT_EQ(fastest_copy_method({{{10, 10, 10}, {8, 8, 8}, {9, 12, 12}}}), CopyMethod::vector);
}

TEST(FastestCopyMethod, IsFoundAlthoughItsFirstTimesWereSlow) {
  EXPECT_EQ(fastest_copy_method({{{129, 125, 126, 126, 124}, {145, 156, 62, 61, 62}, {95, 96, 101, 94, 93}}}),
            CopyMethod::vector);
}

TEST(FastestCopyMethod, IgnoresMethodsThatWereDropped) {
  EXPECT_EQ(fastest_copy_method({{{100}, {8, 8, 8}, {90}}}), CopyMethod::vector);
  EXPECT_EQ(fastest_copy_method({}), std::nullopt);
}

CopyTable all(CopyMethod method) {
  CopyTable table;
  for (auto& of_size : table.methods) of_size.fill(method);
  return table;
}

TEST(CopyMeasurement, KeepsKnownDecisions) {
  CopyTable known;
  known.at(0, CopyShift::close) = CopyMethod::string;
  CopyTable fixed;
  fixed.at(0, CopyShift::alike) = CopyMethod::vector;
  ASSERT_TRUE(measure_copies_briefly(fixed, known, never_stops));
  EXPECT_EQ(known.at(0, CopyShift::close), CopyMethod::string);
  EXPECT_EQ(known.at(0, CopyShift::alike), std::nullopt);
  for (std::size_t shift = 0; shift < copy_shift_count; ++shift)
    EXPECT_EQ(known.methods[copy_sizes_of_job][shift], std::nullopt);
  CopyTable complete = all(CopyMethod::string);
  ASSERT_TRUE(measure_copies_briefly({}, complete, never_stops));
  EXPECT_EQ(complete, all(CopyMethod::string));
}

TEST(CopyMeasurement, EndsOnRequest) {
  CopyTable table;
  ASSERT_TRUE(measure_copies_briefly({}, table, [] { return true; }));
  EXPECT_EQ(table, CopyTable{});
}

/// A measurement that other processes disturb may find nothing; not all measurements are disturbed.
TEST(CopyMeasurement, FindsAvailableMethodsSoon) {
  CopyTable table;
  for (int turn = 0; turn < 200 && table == CopyTable{}; ++turn)
    ASSERT_TRUE(measure_copies_briefly({}, table, never_stops));
  EXPECT_NE(table, CopyTable{});
  for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    EXPECT_TRUE(is_available(table.at(size_class, shift).value_or(CopyMethod::library)));
  });
}

/// Small blocks are copied many times, and are in the caches of this processor for all but the first copy.
TEST(CopyMeasurement, PreparesLargeCopiesOnly) {
  std::vector<std::byte> memory(2 * copy_measurement_bytes(3) + 2 * 4096);
  std::byte* const target = memory.data() + (4096 - reinterpret_cast<std::uintptr_t>(memory.data()) % 4096);
  std::size_t least = SIZE_MAX;
  CopyTable table;
  measure_copies({.target = target,
                  .origin = target + copy_measurement_bytes(3),
                  .sizes = 3,
                  .budget = std::chrono::minutes(1),
                  .stops = {},
                  .before = [&](std::size_t bytes) { least = std::min(least, bytes); }},
                 {}, table);
  EXPECT_EQ(least, 64u * 1024);
}

TEST(CopyMeasurement, IsCompleteWithDecisionsFromEither) {
  CopyTable table = all(CopyMethod::library);
  table.at(1, CopyShift::other).reset();
  table.at(6, CopyShift::other).reset();
  EXPECT_FALSE(is_complete({}, table, copy_sizes_of_job));
  CopyTable fixed;
  fixed.at(1, CopyShift::other) = CopyMethod::vector;
  EXPECT_TRUE(is_complete(fixed, table, copy_sizes_of_job));
  EXPECT_FALSE(is_complete(fixed, table, copy_size_count));
}

TEST(HostKey, NamesTheConditions) {
  std::string const key = host_fingerprint();
  EXPECT_NE(key.find("; kernel "), std::string::npos) << key;
  EXPECT_NE(key.find("; C library "), std::string::npos) << key;
  EXPECT_EQ(key.find('\n'), std::string::npos) << key;
  EXPECT_EQ(key, host_fingerprint());
}

TEST(HostKey, HasModelAndMicrocodeOfTheFirstProcessor) {
  std::string const path = ::testing::TempDir() + "cpuinfo";
  std::ofstream(path) << "processor\t: 0\nvendor_id\t: Vendor\nmodel\t\t: 17\nmodel name\t: Name of it\n"
                         "microcode\t: 0xa1\n\nprocessor\t: 1\nmicrocode\t: 0xb2\n";
  std::string const key = host_fingerprint(path.c_str());
  EXPECT_TRUE(key.starts_with("Vendor; 17; Name of it; 0xa1; ")) << key;
  fs::remove(path);
}

TEST(HostKey, NamesUnknownProcessor) {
  EXPECT_TRUE(host_fingerprint("/nonexistent").starts_with("unknown processor; "));
}

class CopyCacheFile : public ::testing::Test {
 protected:
  CopyCacheFile() : top_(make_top()), cache_(top_ + "/cache/mpix-rma", "this host") {}
  ~CopyCacheFile() override {
    fs::permissions(top_, fs::perms::owner_all);
    fs::remove_all(top_);
  }

  std::string contents() const {
    std::ostringstream text;
    text << std::ifstream(cache_.path()).rdbuf();
    return text.str();
  }
  void replace(std::string const& text) const { std::ofstream(cache_.path(), std::ios::trunc) << text; }

  std::string top_;
  CopyCache cache_;
  CopyTable table_ = all(CopyMethod::string);

 private:
  static std::string make_top() {
    std::string name = ::testing::TempDir() + "copy-cache-XXXXXX";
    return ::mkdtemp(name.data()) != nullptr ? name : std::string();
  }
};

TEST_F(CopyCacheFile, ReadsWrittenTable) {
  EXPECT_EQ(cache_.read(), std::nullopt);
  table_.at(3, CopyShift::close).reset();
  ASSERT_TRUE(cache_.write(table_));
  EXPECT_EQ(cache_.read(), table_);
  ASSERT_TRUE(cache_.write({}));
  EXPECT_EQ(cache_.read(), CopyTable{});
  struct stat found {};
  ASSERT_EQ(::stat(cache_.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat((top_ + "/cache/mpix-rma").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
  auto const files = fs::directory_iterator(top_ + "/cache/mpix-rma");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(CopyCacheFile, IsNotReadIfDamaged) {
  ASSERT_TRUE(cache_.write(table_));
  std::string const good = contents();
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    replace(bad);
    EXPECT_EQ(cache_.read(), std::nullopt) << i;
  }
  replace(good.substr(0, good.size() - 1));
  EXPECT_EQ(cache_.read(), std::nullopt);
  replace(good + "\n");
  EXPECT_EQ(cache_.read(), std::nullopt);
  replace("");
  EXPECT_EQ(cache_.read(), std::nullopt);
  replace(std::string(100'000, 'x'));
  EXPECT_EQ(cache_.read(), std::nullopt);
  replace(good);
  EXPECT_EQ(cache_.read(), table_);
  replace("damaged");
  ASSERT_TRUE(cache_.write(table_));
  EXPECT_EQ(cache_.read(), table_);
}

TEST_F(CopyCacheFile, IsNotReadForAnotherHost) {
  ASSERT_TRUE(cache_.write(table_));
  CopyCache const other(top_ + "/cache/mpix-rma", "another host");
  EXPECT_NE(other.path(), cache_.path());
  EXPECT_EQ(other.read(), std::nullopt);
  fs::copy_file(cache_.path(), other.path());
  EXPECT_EQ(other.read(), std::nullopt);
}

TEST_F(CopyCacheFile, IsNotReadIfWritableByOtherUsers) {
  ASSERT_TRUE(cache_.write(table_));
  ASSERT_EQ(::chmod(cache_.path().c_str(), 0622), 0);
  EXPECT_EQ(cache_.read(), std::nullopt);
  ASSERT_EQ(::chmod(cache_.path().c_str(), 0644), 0);
  EXPECT_EQ(cache_.read(), table_);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(cache_.path().c_str(), 12345, 0), 0);
    EXPECT_EQ(cache_.read(), std::nullopt);
  }
}

TEST_F(CopyCacheFile, RejectsLinksAndFifos) {
  ASSERT_TRUE(cache_.write(table_));
  std::string const moved = top_ + "/moved";
  fs::rename(cache_.path(), moved);
  fs::create_symlink(moved, cache_.path());
  EXPECT_EQ(cache_.read(), std::nullopt);
  fs::remove(cache_.path());
  ASSERT_EQ(::mkfifo(cache_.path().c_str(), 0600), 0);
  EXPECT_EQ(cache_.read(), std::nullopt);
  ASSERT_TRUE(cache_.write(table_));
  EXPECT_EQ(cache_.read(), table_);
}

TEST_F(CopyCacheFile, IsNotWrittenToDirectoryOfAnotherUser) {
  ASSERT_TRUE(cache_.write({}));
  ASSERT_EQ(::chmod((top_ + "/cache/mpix-rma").c_str(), 0777), 0);
  EXPECT_FALSE(cache_.write(table_));
  EXPECT_FALSE(cache_.take_turn());
  EXPECT_EQ(cache_.read(), CopyTable{});
}

TEST_F(CopyCacheFile, IsNotWrittenIfTheDirectoryCannotBeMade) {
  std::ofstream(top_ + "/cache") << "a file";
  EXPECT_FALSE(cache_.write(table_));
  EXPECT_FALSE(cache_.take_turn());
  EXPECT_EQ(cache_.read(), std::nullopt);
  CopyCache const nowhere("", "this host");
  EXPECT_FALSE(nowhere.write(table_));
  EXPECT_FALSE(nowhere.take_turn());
  EXPECT_EQ(nowhere.read(), std::nullopt);
}

TEST_F(CopyCacheFile, GrantsOneTurnAtATime) {
  {
    CopyCache::Turn const turn = cache_.take_turn();
    EXPECT_TRUE(turn);
    EXPECT_FALSE(cache_.take_turn());
  }
  EXPECT_TRUE(cache_.take_turn());
}

/// An environment variable, unset for a scope in which the test may set it.
class Variable {
 public:
  explicit Variable(char const* name) : name_(name) {
    if (char const* const value = std::getenv(name)) before_ = value;
    ::unsetenv(name);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(Variable const&) = delete;
  Variable& operator=(Variable const&) = delete;
  void set(char const* value) const { ::setenv(name_, value, 1); }

 private:
  char const* name_;
  std::optional<std::string> before_;
};

TEST(CacheDirectory, FollowsTheEnvironment) {
  Variable const cache("XDG_CACHE_HOME");
  Variable const home("HOME");
  EXPECT_EQ(cache_directory(), "");
  home.set("relative");
  EXPECT_EQ(cache_directory(), "");
  home.set("/home/user");
  EXPECT_EQ(cache_directory(), "/home/user/.cache/mpix-rma");
  cache.set("");
  EXPECT_EQ(cache_directory(), "/home/user/.cache/mpix-rma");
  cache.set("/scratch/cache");
  EXPECT_EQ(cache_directory(), "/scratch/cache/mpix-rma");
}

}  // namespace
}  // namespace mpixrma::engine
