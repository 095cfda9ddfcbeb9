/// Many requests that arrive together: other clients are served in between. The tests count the requests that
/// are served meanwhile.
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr uid_t owner = 64001;
constexpr uid_t attacker = 64002;

/// Returns `count` copies of `request` in the wire format: they arrive together.
std::string frames(Json const& request, int count) {
  std::string const text = request.dump();
  struct {
    std::uint32_t magic = 0x316d616e;
    std::uint32_t head_bytes = 0;
    std::uint32_t data_bytes = 0;
    std::uint32_t descriptors = 0;
  } header;
  header.head_bytes = static_cast<std::uint32_t>(text.size());
  std::string const one = std::string(reinterpret_cast<char const*>(&header), sizeof header) + text;
  std::string all;
  for (int i = 0; i < count; ++i) all += one;
  return all;
}

/// A connection whose requests are sent as raw bytes.
class RawClient {
 public:
  explicit RawClient(Address const& server) : channel_(connect_unix(server.unix_path), {}) {}

  void send(std::string const& bytes) const {
    EXPECT_EQ(::send(channel_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  Json receive() {
    for (;;) {
      if (auto message = channel_.next()) return std::move(message->head);
      pollfd entry{channel_.descriptor(), POLLIN, 0};
      if (::poll(&entry, 1, 60000) != 1 || !channel_.fill())
        throw Error(ErrorCode::unavailable, "the server does not answer");
    }
  }
  Json ask(Json request) {
    request["version"] = protocol_version;
    send(frames(request, 1));
    return receive();
  }
  bool has_answer() const {
    pollfd entry{channel_.descriptor(), POLLIN, 0};
    return ::poll(&entry, 1, 0) != 0;
  }

 private:
  Channel channel_;
};

/// Returns how often `serve` returns while the server executes `count` copies of `request`, which arrive
/// together.
int served_during(RawClient& many, Json request, int count, std::function<void()> const& serve) {
  request["quiet"] = true;
  many.send(frames(request, count) + frames({{"op", "usage"}}, 1));
  for (int served = 0;; ++served) {
    if (many.has_answer()) return served;
    serve();
  }
}

class Turns : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
  }
  void start() {
    server.start();
    std::filesystem::permissions(server.directory(), std::filesystem::perms(0755));
    grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
  }
  /// Makes a window with a long description.
  std::string window_of_many_regions(unsigned mode) const {
    std::vector<std::uint64_t> const sizes(20000, 0);
    std::vector<std::uint64_t> const units(20000, 1);
    return Session::open(grant).allocate(sizes, units, {.persistent = true, .mode = mode}).port;
  }

  TestServer server;
  Locator grant;
};

TEST_F(Turns, RequestsOfAGuestLeaveTheDataProcessToOthers) {
  start();
  std::string const port = window_of_many_regions(0644);
  EXPECT_TRUE(as_user(attacker, [&] {
    WindowInfo window;
    Session other = Session::connect(port, &window);
    RawClient guest(server.address());
    (void)guest.ask({{"op", "connect"}, {"port", port}});
    int const served =
        served_during(guest, {{"op", "join"}, {"window", window.id}}, 100, [&] { (void)other.usage(); });
    EXPECT_GE(served, 10);
    return served >= 10;
  }));
}

TEST_F(Turns, RequestsOfAStrangerLeaveTheControlProcessToOthers) {
  start();
  std::string const port = window_of_many_regions(0600);
  EXPECT_TRUE(as_user(owner, [&] {
    server.ask({{"op", "publish"}, {"name", "field"}, {"port", port}});
    return true;
  }));
  EXPECT_TRUE(as_user(attacker, [&] {
    Client other(server.address());
    RawClient stranger(server.address());
    (void)stranger.ask({{"op", "hello"}});
    int const served = served_during(
        stranger, {{"op", "lookup"}, {"name", "~" + std::to_string(owner) + "/field"}}, 100, [&] {
          (void)other.request({{"op", "usage"}});
        });
    EXPECT_GE(served, 10);
    return served >= 10;
  }));
}

}  // namespace
}  // namespace mpixrma::nam
