/// Methods of copies of an engine: by its parameter, from the user's cache, or measured by a thread.
#include "engine/runtime/copy_decisions.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "engine/tuning/host_fingerprint.hpp"

namespace mpixrma::engine {
namespace {

namespace fs = std::filesystem;

/// A directory in place of the user's cache.
class CopyDecisionsTest : public ::testing::Test {
 protected:
  CopyDecisionsTest() : top_(::testing::TempDir() + "copy-decisions-XXXXXX") {
    EXPECT_NE(::mkdtemp(top_.data()), nullptr);
    if (char const* const value = std::getenv("XDG_CACHE_HOME")) before_ = value;
    ::setenv("XDG_CACHE_HOME", top_.c_str(), 1);
  }
  ~CopyDecisionsTest() override {
    before_ ? ::setenv("XDG_CACHE_HOME", before_->c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(top_);
    use_copy_methods({});
  }

  static CopyCache cache() { return {cache_directory(), host_fingerprint()}; }
  static CopyTable all(CopyMethod method) {
    CopyTable table;
    for (auto& of_size : table.methods) of_size.fill(method);
    return table;
  }
  /// Opens decisions repeatedly until found() holds: a measurement that is disturbed finds nothing.
  template <typename Found>
  static bool open_until(mpix_engine_config const& config, Found found) {
    constexpr int most = 300;
    for (int turn = 0; turn < most && !found(); ++turn) {
      CopyDecisions decisions;
      decisions.open(config);
      for (int wait = 0; wait < 50 && !found(); ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return found();
  }

  std::string top_;
  std::optional<std::string> before_;
};

/// The method for a target that is close ahead of the origin.
CopyMethod method_in_use(std::size_t bytes) {
  return copy_method(reinterpret_cast<void*>(0x100010), reinterpret_cast<void*>(0x200000), bytes);
}

TEST_F(CopyDecisionsTest, AreReadFromTheCache) {
  CopyMethod const method = is_available(CopyMethod::vector) ? CopyMethod::vector : CopyMethod::library;
  ASSERT_TRUE(cache().write(all(method)));
  CopyDecisions decisions;
  decisions.open({});
  EXPECT_EQ(method_in_use(4096), method);
  EXPECT_EQ(method_in_use(64u << 20), method);
}

TEST_F(CopyDecisionsTest, ParameterPrevails) {
  ASSERT_TRUE(cache().write(all(CopyMethod::vector)));
  mpix_engine_config config{};
  config.copy_methods = "2k=library";
  CopyDecisions decisions;
  decisions.open(config);
  EXPECT_EQ(method_in_use(4096), CopyMethod::library);
  EXPECT_EQ(method_in_use(65536),
            is_available(CopyMethod::vector) ? CopyMethod::vector : CopyMethod::library);
}

TEST_F(CopyDecisionsTest, MeasurementIsKept) {
  EXPECT_TRUE(open_until({}, [] { return cache().read().value_or(CopyTable{}) != CopyTable{}; }));
  CopyTable const kept = *cache().read();
  for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    EXPECT_TRUE(is_available(kept.at(size_class, shift).value_or(CopyMethod::library)));
  });
}

TEST_F(CopyDecisionsTest, DamagedFileIsReplaced) {
  ASSERT_TRUE(cache().write(all(CopyMethod::vector)));
  fs::resize_file(cache().path(), 100);
  EXPECT_TRUE(open_until({}, [] { return cache().read().has_value(); }));
}

TEST_F(CopyDecisionsTest, AreNotMeasuredIfAllAreSet) {
  mpix_engine_config config{};
  config.copy_methods = "library";
  {
    CopyDecisions decisions;
    decisions.open(config);
  }
  EXPECT_FALSE(fs::exists(cache_directory()));
}

/// Another process of the user measures meanwhile: its result is used.
TEST_F(CopyDecisionsTest, AreReceivedFromTheMeasuringProcess) {
  if (!is_available(CopyMethod::vector)) GTEST_SKIP() << "no vectors";
  CopyCache::Turn const turn = cache().take_turn();
  ASSERT_TRUE(turn);
  CopyDecisions decisions;
  decisions.open({});
  EXPECT_EQ(method_in_use(4096), CopyMethod::library);
  ASSERT_TRUE(cache().write(all(CopyMethod::vector)));
  for (int wait = 0; wait < 10'000 && method_in_use(4096) != CopyMethod::vector; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(method_in_use(4096), CopyMethod::vector);
}

/// A server for other users writes nothing to the cache of its own user.
TEST_F(CopyDecisionsTest, OfAServerAreNotKept) {
  mpix_engine_config config{};
  config.exposed_only = 1;
  {
    CopyDecisions decisions;
    decisions.open(config);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(fs::exists(cache_directory()));
}

TEST_F(CopyDecisionsTest, NeedNoDirectory) {
  for (char const* const place : {"/dev/null/cache", "relative", "/proc/nothing"}) {
    ::setenv("XDG_CACHE_HOME", place, 1);
    CopyDecisions decisions;
    decisions.open({});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(fs::exists(place)) << place;
  }
}

}  // namespace
}  // namespace mpixrma::engine
