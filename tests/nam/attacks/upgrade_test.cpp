/// A server takes over what an earlier one has left.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nam/server/catalog_schema.hpp"
#include "nam/server/database.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpix::nam {
namespace {

constexpr char const* grant_of_root = "6446ca94720103c94d7887b0aa6b5bf5";
constexpr char const* grant_of_user = "9812f09b72489c7945ba2eb1cb36e223";
constexpr char const* field = "e3804ee0a772c5702319c77379a8fb02";
constexpr char const* window_of_user = "6ffa814b923cb9e7a693f6a60d607103";

void write_storage(std::filesystem::path const& file, std::uint64_t bytes,
                   std::vector<std::pair<std::size_t, std::vector<std::byte>>> const& pieces) {
  std::ofstream stream(file, std::ios::binary);
  for (auto const& [offset, values] : pieces) {
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.write(reinterpret_cast<char const*>(values.data()), static_cast<std::streamsize>(values.size()));
  }
  stream.close();
  std::filesystem::resize_file(file, bytes);
  std::filesystem::permissions(file, std::filesystem::perms(0600));
}

/// What a server of version 1 has left: its catalog, and the files of its two grants.
void leave_version_1(TestServer const& server) {
  std::filesystem::create_directories(server.state / "memory");
  std::ifstream dump(MPIX_TEST_SOURCES "/catalog_version_1.sql");
  std::stringstream text;
  text << dump.rdbuf();
  std::string statements = text.str();
  std::string const placeholder = "@DIRECTORY@";
  for (std::size_t at = statements.find(placeholder); at != std::string::npos;
       at = statements.find(placeholder))
    statements.replace(at, placeholder.size(), server.directory().string());
  Database database(server.state / "catalog.sqlite", Database::Mode::create);
  database.run(statements.c_str());
  write_storage(server.state / "memory" / (std::string(grant_of_root) + ".memory"), 1u << 20,
                {{0, pattern(10000, 1)}, {10048, pattern(10000, 2)}, {20480, pattern(100, 5)}});
  write_storage(server.state / "memory" / (std::string(grant_of_user) + ".memory"), 256u << 10,
                {{0, pattern(3000, 17)}});
}

TEST(Upgrade, TakesOverCatalogAndFilesOfVersion1) {
  TestServer server;
  leave_version_1(server);
  for (int round = 0; round < 2; ++round) {  // the second finds what the first has left
    server.start({"--size", "64M", "--listen", "none", "--storage", "file"});
    auto const port = [&](char const* grant, char const* window) {
      return format(Locator{grant, window, server.address()});
    };
    Json const grants = server.ask({{"op", "list"}}).at("grants");
    ASSERT_EQ(grants.size(), 2u);
    expect_pattern(port(grant_of_root, field), 10000, 1);
    WindowInfo window;
    Session session = Session::connect(port(grant_of_user, window_of_user), &window);
    EXPECT_EQ(content(session, window, 0), pattern(3000, 17));
    Json const shown = server.show(Locator{grant_of_root, "", server.address()});
    EXPECT_EQ(shown.at("windows"), 3);
    EXPECT_EQ(shown.at("window_list")[1].at("mode"), 0644);
    EXPECT_EQ(shown.at("window_list")[2].at("other_parts").size(), 1u);
    EXPECT_EQ(server.show(Locator{grant_of_user, "", server.address()}).at("owner"), "64001");
    if (::getuid() == 0) {  // the names are root's
      auto const lookup = [&](char const* name) {
        return parse_locator(server.ask({{"op", "lookup"}, {"name", name}}).at("port").get<std::string>());
      };
      EXPECT_EQ(server.ask({{"op", "names"}}).at("names").size(), 4u);
      EXPECT_EQ(lookup("field").window, field);
      EXPECT_EQ(lookup("./nam_producer").window, field);
      EXPECT_EQ(lookup("d\xc3\xbcse").window, window_of_user);
    }
    server.stop();
  }
  Database database(server.state / "catalog.sqlite", Database::Mode::existing);
  Statement version(database, "PRAGMA user_version");
  ASSERT_TRUE(version.step());
  EXPECT_EQ(version.number(0), newest_schema());
}

TEST(Upgrade, RefusesCatalogOfNewerServer) {
  TestServer server;
  server.start();
  server.stop();
  {
    Database database(server.state / "catalog.sqlite", Database::Mode::existing);
    database.run(("PRAGMA user_version=" + std::to_string(newest_schema() + 1)).c_str());
  }
  server.spawn(TestServer::defaults());
  auto const code = server.exit_code(100000);
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(*code, 1);
}

}  // namespace
}  // namespace mpix::nam
