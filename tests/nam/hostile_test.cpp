/// A memory server with very many clients, and with misbehaving ones.
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "tests/nam/windows_of_server.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::nam {
namespace {

TEST(Server, ServesManyClientsAtOnce) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(32u << 20);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        Session session = Session::open(grant);
        WindowInfo const window = session.allocate({10000}, {1});
        session.write(window, 0, 0, pattern(10000, static_cast<unsigned>(i)));
        if (content(session, window, 0) == pattern(10000, static_cast<unsigned>(i))) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 160);
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("used") == 0; }));
}

TEST(Server, ClientsAreServedAfterThousandSilentConnections) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--max-connections", "500"});
  {
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 1000; ++i) silent.push_back(connect_unix(server.address().unix_path));
    EXPECT_EQ(refusal([&] { server.ask({{"op", "list"}}); }), ErrorCode::quota);
  }
  EXPECT_TRUE(eventually([&] { return !refusal([&] { server.ask({{"op", "list"}}); }); }));
}

int parameter(char const* name, int otherwise) {
  char const* const given = std::getenv(name);
  return given != nullptr ? std::atoi(given) : otherwise;
}

/// Returns a request that is nearly right: it has fields of wrong kinds and sizes, at random.
Json strange_request(std::mt19937_64& random) {
  static std::vector<std::string> const operations{
      "hello",          "prove",    "grant",  "revoke",    "extend",    "list",    "show",    "usage",
      "open",           "connect",  "evict",  "chmod",     "dry_run",   "names",   "publish", "lookup",
      "unpublish",      "allocate", "join",   "release",   "persist",   "read",    "write",   "map",
      "engine_address", "try_lock", "unlock", "end_locks", "processes", "operate", "?"};
  static std::vector<std::string> const fields{
      "grant",     "bytes",    "seconds", "owner",      "port",      "name",  "window", "sizes",  "units",
      "rank",      "offset",   "mode",    "durability", "user",      "nonce", "proof",  "holder", "slot",
      "exclusive", "has_turn", "kind",    "runs",       "operation", "type",  "fetch"};
  static std::vector<Json> const values{-1,
                                        0,
                                        1,
                                        1.5,
                                        4096,
                                        UINT64_MAX,
                                        "",
                                        "x",
                                        std::string(300, 'y'),
                                        nullptr,
                                        true,
                                        Json::array({1, 2}),
                                        Json::array({-1}),
                                        Json::array({UINT64_MAX, "z"}),
                                        Json::object(),
                                        "mpix-nam://a?unix=/x",
                                        "mpix-nam://a/b?tcp=c:1",
                                        "\xff\xfe"};
  Json request{{"version", protocol_version}, {"op", operations[random() % operations.size()]}};
  for (unsigned i = 0; i < random() % 5; ++i)
    request[fields[random() % fields.size()]] = values[random() % values.size()];
  if (request["op"] == "grant") request["bytes"] = random() % 2 == 0 ? Json(UINT64_MAX) : Json(-1);
  if (random() % 50 == 0) request["op"] = values[random() % values.size()];
  return request;
}

/// Sends a random message: in a tenth of the calls, bytes that are no message at all.
void send_strange(Channel& channel, std::mt19937_64& random) {
  if (random() % 10 != 0)
    return channel.post(strange_request(random),
                        std::vector<std::byte>(random() % 3 == 0 ? random() % 200 : 0));
  std::vector<std::byte> bytes(1 + random() % 64);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  (void)::send(channel.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// The bytes go to the control process, to a data process in a session, and over TCP without a session.
TEST(Server, HostileBytesEndTheirConnectionsOnly) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "127.0.0.1:0", "--log-level", "error"});
  Locator const grant = server.grant(4u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  pid_t const process = server.data_process(grant);
  std::mt19937_64 random(test::seed());
  int const messages = parameter("MPIX_NAM_HOSTILE_MESSAGES", 30000) / test::slowness;
  for (int sent = 0; sent < messages;) {
    Channel channel(sent % 3 == 2 ? connect_tcp("127.0.0.1", grant.address.port, 5000)
                                  : connect_unix(grant.address.unix_path),
                    {});
    if (sent % 3 == 1) channel.post({{"op", "open"}, {"grant", grant.grant}, {"version", protocol_version}});
    for (int i = 0; i < 100; ++i, ++sent) {
      send_strange(channel, random);
      if (!channel.flush()) break;
      if (!channel.fill()) break;
      try {
        while (channel.next()) {
        }
      } catch (Error const&) {
        break;
      }
    }
    ++sent;
  }
  EXPECT_EQ(server.data_process(grant), process);
  EXPECT_EQ(::kill(server.pid(), 0), 0);
  expect_pattern(port, 10000, 1);
}

}  // namespace
}  // namespace mpixrma::nam
