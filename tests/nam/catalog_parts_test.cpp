/// The catalog, without a server.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "nam/protocol/user_secret.hpp"
#include "nam/server/catalog.hpp"

namespace mpixrma::nam {
namespace {

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() : file_(std::filesystem::temp_directory_path() / ("catalog-" + random_identifier())) {}
  ~CatalogTest() override {
    for (char const* const ending : {"", "-wal", "-shm", ".damaged"})
      std::filesystem::remove(file_.string() + ending);
  }

  static Window window(std::string const& id, std::uint64_t offset) {
    Window made{id, true, {1, 2, 0640}, Durability::server, offset, 0, {}};
    made.bytes = lay_out({100, 0, 300}, {1, 8, 4}, &made.regions);
    for (Region& region : made.regions) region.offset += offset;
    return made;
  }
  void fill(Catalog& catalog, int windows) {
    catalog.in_transaction([&] {
      Grant grant{"g1", 7, 64u << 20, StorageKind::memory, "", 100, 200};
      catalog.add(grant);
      for (int i = 0; i < windows; ++i)
        catalog.add("g1",
                    window(std::string("w").append(std::to_string(i)), static_cast<std::uint64_t>(i) * 4096));
      catalog.publish({7, "name"}, "w0");
    });
  }

  std::filesystem::path file_;
};

TEST_F(CatalogTest, KeepsGrantsWindowsAndNames) {
  {
    Catalog catalog(file_);
    fill(catalog, 2);
  }
  Catalog catalog(file_);
  ASSERT_EQ(catalog.grants().size(), 1u);
  EXPECT_EQ(catalog.grants()[0].expires, 200);
  auto const found = catalog.find_window("w1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->grant, "g1");
  EXPECT_EQ(found->window.offset, 4096u);
  ASSERT_EQ(found->window.regions.size(), 3u);
  EXPECT_EQ(found->window.regions[2].offset, 4096u + 128);
  EXPECT_EQ(found->window.regions[2].unit, 4u);
  EXPECT_EQ(found->window.ownership.mode, 0640u);
  EXPECT_THROW(catalog.publish({7, "name"}, "w1"), Error);
  catalog.publish({8, "name"}, "w1");
  EXPECT_EQ(catalog.find_name({8, "name"})->window.id, "w1");
  EXPECT_TRUE(catalog.find_inconsistencies().empty());
  catalog.remove_window("w0");
  EXPECT_FALSE(catalog.find_name({7, "name"}));
  catalog.remove_grant("g1");
  EXPECT_FALSE(catalog.find_window("w1"));
}

TEST_F(CatalogTest, DetectsOverlappingWindows) {
  Catalog catalog(file_);
  fill(catalog, 1);
  catalog.add("g1", window("other", 0));
  catalog.add("g1", window("outside", 1u << 30));
  EXPECT_EQ(catalog.find_inconsistencies().size(), 2u);
}

TEST_F(CatalogTest, RefusesDamageAndKeepsReadableRows) {
  {
    Catalog catalog(file_);
    fill(catalog, 2000);
  }
  {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file_) / 2));
    file << std::string(20000, '\x5a');
  }
  EXPECT_THROW(Catalog{file_}, Error);
  EXPECT_FALSE(repair_catalog(file_).lost.empty());
  Catalog catalog(file_);
  EXPECT_TRUE(catalog.find_inconsistencies().empty());
  EXPECT_EQ(catalog.grants().size(), 1u);
  EXPECT_GT(catalog.count_windows("g1"), 500u);
  EXPECT_LT(catalog.count_windows("g1"), 2000u);
}

/// In the place of a full disk: files may not grow.
TEST_F(CatalogTest, CheckThatFailsLeavesNoCopy) {
  {
    Catalog catalog(file_);
    fill(catalog, 100);
  }
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit const full{std::filesystem::file_size(file_) / 2, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_THROW(check_catalog(file_), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".checked"));
  EXPECT_TRUE(check_catalog(file_).empty());
}

TEST_F(CatalogTest, RefusesFileOfAnotherFormat) {
  std::ofstream(file_) << std::string(8192, 'x');
  EXPECT_THROW(Catalog{file_}, Error);
}

}  // namespace
}  // namespace mpixrma::nam
