/// A server takes over the files and processes of an earlier one.
#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "nam/server/catalog_schema.hpp"
#include "nam/server/database.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
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

/// Creates the files of a server of version 1: its catalog, and the files of its two grants.
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

TEST(Upgrade, AdoptsCatalogAndFilesOfVersion1) {
  TestServer server;
  leave_version_1(server);
  for (int round = 0; round < 2; ++round) {  // the second round finds what the first one has left
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

/// The earlier server can still use the catalog.
TEST(Upgrade, CheckUpgradesNoCatalog) {
  TestServer server;
  leave_version_1(server);
  std::string const command = MPIX_NAM_TOOL " check --directory " + server.state.string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  Database database(server.state / "catalog.sqlite", Database::Mode::read_only);
  Statement version(database, "PRAGMA user_version");
  ASSERT_TRUE(version.step());
  EXPECT_EQ(version.number(0), 1);
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

/// A client of version 1 on the server's host begins with a request that states no version.
TEST(Upgrade, NamesComponentToUpdateForOtherVersions) {
  TestServer server;
  server.start();
  auto const text_of_refusal = [&](Json const& request) {
    Channel channel(connect_unix(server.address().unix_path), {});
    channel.post(request);
    EXPECT_TRUE(channel.flush());
    std::optional<Message> answer;
    while (!answer && channel.fill()) answer = channel.next();
    return answer ? answer->head.value("text", "") : "";
  };
  std::string const server_version = std::to_string(protocol_version);
  EXPECT_EQ(text_of_refusal({{"op", "list"}}),
            "the client speaks version 1 of the protocol, the memory server version " + server_version +
                ": update mpix-rma of the client");
  EXPECT_EQ(text_of_refusal({{"op", "list"}, {"version", protocol_version + 1}}),
            "the client speaks version " + std::to_string(protocol_version + 1) +
                " of the protocol, the memory server version " + server_version +
                ": update mpix-rma of the server");
  EXPECT_EQ(text_of_refusal({{"op", "list"}, {"version", protocol_version}}), "");
}

/// Plays a running data process of an earlier server: sends its messages, and ends when it is told to.
class EarlierDataProcess {
 public:
  EarlierDataProcess(std::filesystem::path const& adoption, std::uint64_t bytes)
      : listener_(listen_unix(adoption.string(), 0600)),
        memory_(::memfd_create("earlier", MFD_CLOEXEC)),
        bytes_(bytes) {
    EXPECT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(bytes)), 0);
    thread_ = std::thread([this, adoption] {
      serve();
      listener_ = FileDescriptor();
      std::filesystem::remove(adoption);
    });
  }
  ~EarlierDataProcess() { thread_.join(); }

  void fill(std::uint64_t offset, std::vector<std::byte> const& values) const {
    EXPECT_EQ(::pwrite(memory_.get(), values.data(), values.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(values.size()));
  }

 private:
  void serve() {
    FileDescriptor socket;
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(socket = accept_from(listener_)); }));
    Channel channel(std::move(socket), {.head_bytes = 64u << 20, .data_bytes = 0, .descriptors = 2});
    std::vector<FileDescriptor> passed;
    passed.emplace_back(::dup(SharedControl::make(100).descriptor().get()));
    passed.emplace_back(::dup(memory_.get()));
    Json ready{{"op", "ready"}};
    for (char const* const name : {"used", "largest_free", "windows", "persistent", "sessions"})
      ready[name] = 0;
    ready["free"] = bytes_;
    channel.post(ready, {}, std::move(passed));
    EXPECT_TRUE(channel.flush());
    std::optional<Message> message;
    EXPECT_TRUE(eventually([&] { return !channel.fill() || (message = channel.next()).has_value(); }));
    EXPECT_TRUE(message && message->head.at("op") == "end");
  }

  FileDescriptor listener_;
  FileDescriptor memory_;
  std::uint64_t bytes_;
  std::thread thread_;
};

TEST(Upgrade, ReplacesDataProcessOfEarlierServerAndKeepsItsMemory) {
  TestServer server;
  server.start();
  constexpr std::uint64_t bytes = 1u << 20;
  Locator const grant = server.grant(bytes);
  WindowInfo const window = make_persistent(grant, 100, 1);
  pid_t const process = server.data_process(grant);
  server.kill();
  ::kill(process, SIGKILL);
  auto const adoption = server.state / "run" / grant.grant.substr(0, 16);
  EXPECT_TRUE(eventually([&] { return !connect_unix(adoption.string()); }));
  EarlierDataProcess const earlier(adoption, bytes);
  earlier.fill(window.regions[0].offset, pattern(100, 7));
  earlier.fill(window.regions[1].offset, pattern(100, 8));
  server.start();
  expect_pattern(window.port, 100, 7);
  EXPECT_NE(server.data_process(grant), ::getpid());
}

}  // namespace
}  // namespace mpixrma::nam
