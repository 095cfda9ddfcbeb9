/// Attacks on the identity of users and servers: to which user a session belongs, and to which server it
/// leads.
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "nam/client/known_servers.hpp"
#include "nam/client/secrets.hpp"
#include "nam/protocol/handshake.hpp"
#include "tests/nam/attacks/client_files.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// A server with TCP, and this process's secret and pins for it in files of the test.
struct ServerIdentity : testing::Test {
  TestServer server;
  std::optional<ClientFiles> files;
  Locator grant;  ///< by TCP

  void start(TestServer::Arguments arguments = {"--size", "64M", "--listen", "127.0.0.1:0"}) {
    server.start(arguments);
    files.emplace(server);
    grant = server.grant(8u << 20);
    grant.address.unix_path.clear();
  }
  Address without_key() const { return {"", grant.address.host, grant.address.port}; }
  ~ServerIdentity() override { set_key_confirmation({}); }
};

TEST_F(ServerIdentity, LocalUserCannotClaimAnotherName) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  server.admit_all_users();
  EXPECT_TRUE(as_user(attacker, [&] {
    ::setenv("MPIX_NAM_USER", "root", 1);
    Json const answer = server.ask({{"op", "hello"}, {"user", "root"}, {"nonce", "0"}});
    return answer.at("user") == std::to_string(attacker) && !answer.at("admin").get<bool>() &&
           refusal([&] { server.grant(4096); }) == ErrorCode::denied;
  }));
}

/// Forwards data between both sides until one closes, or the server admits the client in plaintext.
void relay(FileDescriptor const& client, FileDescriptor const& server) {
  std::array<pollfd, 2> sides{pollfd{client.get(), POLLIN, 0}, pollfd{server.get(), POLLIN, 0}};
  std::array<char, 65536> bytes;
  while (::poll(sides.data(), sides.size(), 20000) > 0) {
    for (std::size_t from : {0u, 1u}) {
      if (sides[from].revents == 0) continue;
      ssize_t const got = ::recv(sides[from].fd, bytes.data(), bytes.size(), 0);
      if (got <= 0) return;
      std::string_view const text(bytes.data(), static_cast<std::size_t>(got));
      if (from == 1 && text.find("\"admin\":true") != std::string_view::npos) return;
      if (::send(sides[1 - from].fd, bytes.data(), text.size(), MSG_NOSIGNAL) != got) return;
    }
  }
}

/// Returns whether the server executes a request that the attacker sends on the relayed connection.
bool is_admitted(FileDescriptor socket) {
  Channel channel(std::move(socket), {});
  channel.post({{"op", "list"}});
  if (!channel.flush()) return false;
  for (int waited = 0; waited < 2000; waited += 10) {
    bool const open = channel.fill();
    if (auto const answer = channel.next()) return answer->head.contains("grants");
    if (!open) return false;
    ::usleep(10000);
  }
  return false;
}

/// Connects a client that expects `key` to the attacker, who runs `play` on the connection. Returns the
/// result of `play`. Sets `*has_session` to whether a server with this key has admitted the client.
bool victim_meets(std::function<bool(FileDescriptor)> const& play, std::string const& key,
                  bool* has_session = nullptr) {
  FileDescriptor const listener = listen_tcp("127.0.0.1:0");
  pid_t const victim = ::fork();
  if (victim == 0) {
    auto const refused = refusal([&] { Client({"", "127.0.0.1", port_of(listener), key}, 5000); });
    ::_exit(refused ? 1 : 0);
  }
  bool const played = as_user(attacker, [&] {
    pollfd entry{listener.get(), POLLIN, 0};
    return ::poll(&entry, 1, 20000) == 1 && play(accept_from(listener));
  });
  int status = 0;
  EXPECT_EQ(::waitpid(victim, &status, 0), victim);
  if (has_session != nullptr) *has_session = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return played;
}

TEST_F(ServerIdentity, RelayedSessionIsRejected) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  bool has_session = false;
  EXPECT_FALSE(victim_meets(
      [&](FileDescriptor client) {
        FileDescriptor to_server = connect_tcp(grant.address.host, grant.address.port, 5000);
        relay(client, to_server);
        return is_admitted(std::move(to_server));
      },
      grant.address.key, &has_session));
  EXPECT_TRUE(has_session) << "otherwise there is no session that the attacker could use";
}

/// The proof that a client gives to the attacker's server is not accepted by another server.
TEST_F(ServerIdentity, ProofToOneServerIsRejectedByAnother) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  KeyPair const own = KeyPair::make();
  EXPECT_TRUE(victim_meets(
      [&](FileDescriptor socket) {
        Channel client(std::move(socket), {});
        (void)begin_as_server(client, own);
        auto const proof = await_message(client);
        if (!proof || !proof->head.contains("proof")) return false;
        Channel to_server(connect_tcp(grant.address.host, grant.address.port, 5000), {});
        ClientHandshake const handshake;
        to_server.post(handshake.hello(std::nullopt));
        SecuredSession const session =
            handshake.finish(await_message(to_server)->head, [](PublicKey const&) {});
        to_server.protect(SecureStream(session.keys));
        to_server.post(proof->head);
        auto const answer = await_message(to_server);
        return answer && answer->head.value("error", "") == "denied";
      },
      to_text(own.public_key)));
}

/// The messages that the fake server receives before it is detected do not depend on the secret.
TEST_F(ServerIdentity, ChangedKeyEndsTheCallBeforeTheSecretIsUsed) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  KeyPair const own = KeyPair::make();
  EXPECT_TRUE(victim_meets(
      [&](FileDescriptor socket) {
        Channel client(std::move(socket), {});
        (void)begin_as_server(client, own);
        return !await_message(client).has_value();
      },
      grant.address.key));
  std::atomic<bool> is_answered = false;
  std::atomic<std::size_t> sent_after_answer = 0;
  TcpProxy other(grant.address, [&](bool from_client, std::vector<char>& bytes) {
    if (!from_client) is_answered = true;
    if (from_client && is_answered) sent_after_answer += bytes.size();
    std::string text(bytes.begin(), bytes.end());
    std::size_t const at = text.find(grant.address.key);
    if (from_client || at == std::string::npos) return;
    text.replace(at, grant.address.key.size(), to_text(own.public_key));
    bytes.assign(text.begin(), text.end());
  });
  EXPECT_EQ(refusal([&] { Client{other.address()}; }), ErrorCode::denied);
  EXPECT_TRUE(eventually([&] { return other.connections() == 0; }));
  EXPECT_EQ(sent_after_answer, 0u);
}

TEST_F(ServerIdentity, UnknownServerIsRefusedUntilItIsPinned) {
  start();
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), ErrorCode::denied);
  pin_key(without_key(), KeyPair::make().public_key);
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), ErrorCode::denied) << "another key";
  pin_key(without_key(), *key_from_text(grant.address.key));
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), std::nullopt);
  std::filesystem::permissions(files->pins, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), ErrorCode::denied) << "pins that others can write";
  std::filesystem::remove(files->pins);
  int asked = 0;
  set_key_confirmation([&](Address const& address, PublicKey const& key) {
    EXPECT_EQ(endpoint_of(address), endpoint_of(grant.address));
    return ++asked == 2 && to_text(key) == grant.address.key;
  });
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), ErrorCode::denied);
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), std::nullopt);
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), std::nullopt);
  EXPECT_EQ(asked, 2) << "what was confirmed is pinned";
}

TEST_F(ServerIdentity, ToolTrustsAndStoresKeys) {
  start();
  std::string const place = endpoint_of(grant.address);
  auto const run = [](std::string const& arguments) { return run_tool(arguments).exit_code; };
  EXPECT_EQ(run("list --server " + place), 7);
  EXPECT_EQ(run("trust " + place), 7) << "there is no terminal";
  EXPECT_EQ(run("trust " + place + " nonsense"), 2);
  EXPECT_EQ(run("trust " + place + " " + grant.address.key), 0);
  EXPECT_EQ(run("list --server " + place), 0);
  std::filesystem::remove(files->pins);
  EXPECT_EQ(run("secret --server " + server.address().unix_path), 0);
  EXPECT_EQ(run("list --server " + place), 0) << "'secret' pins the key";
}

/// One in 64 keys begins like an option.
TEST_F(ServerIdentity, ToolTrustsKeysThatReadLikeOptions) {
  start();
  for (std::string const begin : {"-", "--"}) {
    KeyPair pair = KeyPair::make();
    while (!to_text(pair.public_key).starts_with(begin)) pair = KeyPair::make();
    std::string const text = to_text(pair.public_key);
    for (std::string const& argument : {text, "key=" + text}) {
      std::filesystem::remove(files->pins);
      ToolRun const run = run_tool("trust " + endpoint_of(grant.address) + " " + argument);
      EXPECT_EQ(run.exit_code, 0) << run.output;
      EXPECT_EQ(pinned_key(without_key()), pair.public_key);
    }
  }
}

TEST_F(ServerIdentity, PinFollowsARotatedKey) {
  start();
  PublicKey const before = *key_from_text(grant.address.key);
  pin_key(without_key(), before);
  std::string const now = server.ask({{"op", "rotate_key"}, {"overlap", 3600}}).at("key").get<std::string>();
  EXPECT_NE(now, grant.address.key);
  EXPECT_EQ(server.show(grant).at("locator").get<std::string>().find(grant.address.key), std::string::npos);
  EXPECT_EQ(refusal([&] { Client{grant.address}; }), std::nullopt) << "a locator of before";
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), std::nullopt);
  EXPECT_EQ(to_text(*pinned_key(without_key())), now);
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), std::nullopt);
  server.stop();
  server.start({"--size", "64M", "--listen", endpoint_of(grant.address)});
  EXPECT_EQ(refusal([&] { Client{without_key()}; }), std::nullopt) << "keys outlive the server";
}

TEST_F(ServerIdentity, EarlierKeyExpires) {
  start();
  server.ask({{"op", "rotate_key"}, {"overlap", 0}});
  EXPECT_TRUE(eventually([&] { return refusal([&] { Client{grant.address}; }) == ErrorCode::denied; }));
}

TEST_F(ServerIdentity, OnlyAdministratorsRotateTheKey) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  server.admit_all_users();
  EXPECT_TRUE(as_user(attacker, [&] {
    return refusal([&] { server.ask({{"op", "rotate_key"}, {"overlap", 0}}); }) == ErrorCode::denied;
  }));
}

TEST_F(ServerIdentity, KeyReadableByOtherUsersIsRefused) {
  start();
  server.stop();
  std::filesystem::permissions(server.state / "server.key", std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  server.spawn({"--size", "64M", "--listen", "127.0.0.1:0"});
  EXPECT_NE(server.exit_code(20000).value_or(0), 0);
}

/// Neither data nor identifiers of grants nor requests can be read.
TEST_F(ServerIdentity, SessionsOverTcpAreEncrypted) {
  start();
  TcpProxy other(grant.address);
  Locator const through{grant.grant, "", other.address()};
  Session session = Session::open(through);
  WindowInfo const window = session.allocate({100000}, {1});
  session.write(window, 0, 0, pattern(100000, 3));
  EXPECT_EQ(content(session, window, 0), pattern(100000, 3));
  std::string const seen = other.seen();
  std::vector<std::byte> const some = pattern(32, 3);
  EXPECT_GT(seen.size(), 200000u);
  EXPECT_EQ(seen.find(std::string(reinterpret_cast<char const*>(some.data()), some.size())),
            std::string::npos);
  EXPECT_EQ(seen.find(grant.grant), std::string::npos);
  EXPECT_EQ(seen.find("allocate"), std::string::npos);
}

/// The client gets an error and no wrong data, no matter which byte is changed.
TEST_F(ServerIdentity, ChangedBytesEndTheSession) {
  start();
  for (std::size_t const position : {30u, 100u, 200u, 300u, 450u, 1000u, 5000u, 20000u}) {
    std::array<std::size_t, 2> passed{};
    TcpProxy other(grant.address, [&](bool from_client, std::vector<char>& bytes) {
      std::size_t& before = passed[from_client ? 1 : 0];
      if (position >= before && position < before + bytes.size()) bytes[position - before] ^= 0x10;
      before += bytes.size();
    });
    EXPECT_NE(refusal([&] {
                Locator const through{grant.grant, "", other.address()};
                Session session = Session::open(through, 3000);
                WindowInfo const window = session.allocate({30000}, {1});
                session.write(window, 0, 0, pattern(30000, 3));
                EXPECT_EQ(content(session, window, 0), pattern(30000, 3));
              }),
              std::nullopt)
        << position;
  }
}

TEST_F(ServerIdentity, ClientOfFirstProtocolGetsVersionError) {
  start();
  Channel client(connect_tcp(grant.address.host, grant.address.port, 5000), {});
  client.post({{"op", "hello"}, {"user", "root"}, {"nonce", "00"}});
  auto const answer = await_message(client);
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->head.value("text", "").find("version " + std::to_string(protocol_version)),
            std::string::npos);
  EXPECT_FALSE(await_message(client));
}

/// Returns the number of occurrences of `bytes` in the memory of a process.
std::size_t occurrences(pid_t process, std::string const& bytes) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::ifstream memory("/proc/" + std::to_string(process) + "/mem", std::ios::binary);
  std::size_t found = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx r", &begin, &end) != 2 || end - begin > (1u << 28)) continue;
    std::string content(end - begin, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(memory.gcount()));
    for (std::size_t at = content.find(bytes); at != std::string::npos; at = content.find(bytes, at + 1))
      ++found;
  }
  return found;
}

TEST_F(ServerIdentity, DataProcessNeverHasTheSecretOfAUser) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  std::string const text = server.ask({{"op", "secret"}}).at("secret").get<std::string>();
  grant = server.grant(1u << 20, {{"owner", std::to_string(attacker)}});
  grant.address.unix_path.clear();
  Session session = Session::open(grant);
  (void)session.usage();
  pid_t const process = server.data_process(grant);
  UserSecret const bytes = secret_from_hex(text);
  EXPECT_GT(occurrences(process, grant.grant), 0u) << "otherwise the memory of the process cannot be read";
  EXPECT_EQ(occurrences(process, text), 0u);
  EXPECT_EQ(occurrences(process, std::string(bytes.begin(), bytes.end())), 0u);
}

}  // namespace
}  // namespace mpixrma::nam
