/// The server's keys and their file.
#include "nam/server/server_keys.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {
namespace {

class ServerKeyFile : public testing::Test {
 protected:
  ServerKeyFile() {
    std::string name = (std::filesystem::temp_directory_path() / "server_keys_test.XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~ServerKeyFile() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path file() const { return directory_ / "key"; }
  std::size_t lines() const {
    std::ifstream in(file());
    std::size_t count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }

  std::filesystem::path directory_;
};

TEST_F(ServerKeyFile, LosesAnExpiredKeyOnceItCanBeWritten) {
  constexpr std::int64_t until = 1000;
  ServerKeys keys(file());
  keys.rotate(until);
  ASSERT_EQ(lines(), 2u);
  std::filesystem::path const obstacle = file().string() + ".new";  // a directory in place of the new file
  std::filesystem::create_directories(obstacle / "x");
  EXPECT_THROW(keys.drop_expired(until), Error);
  EXPECT_EQ(lines(), 2u);
  EXPECT_THROW(keys.drop_expired(until), Error) << "it is tried again";
  std::filesystem::remove_all(obstacle);
  keys.drop_expired(until);
  EXPECT_EQ(lines(), 1u);
}

TEST_F(ServerKeyFile, ShortOverlapAppliesToEarlierKeys) {
  ServerKeys keys(file());
  PublicKey const stolen = keys.current().public_key;
  keys.rotate(3000);
  keys.rotate(1000);
  ASSERT_EQ(lines(), 3u);
  keys.rotate(2000);
  keys.drop_expired(1000);
  EXPECT_EQ(lines(), 2u) << "a later, longer overlap does not revive a key";
  EXPECT_NE(keys.find(stolen).public_key, stolen);
}

}  // namespace
}  // namespace mpixrma::nam
