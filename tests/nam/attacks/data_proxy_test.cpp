/// A man in the middle of the connections between a client's engine and a data process: he repeats and
/// changes encrypted messages in both directions.
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/net/seal.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/job_engine.hpp"
#include "tests/nam/windows_of_server.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

std::atomic<std::uint16_t> diverted{0};  ///< port to which connections of UCX are diverted; 0: none
std::atomic<std::uint16_t> meant{0};     ///< port to which UCX wanted to connect
thread_local bool is_between = false;    ///< the thread is that of the man in the middle

int connect_diverted(int socket, sockaddr const* address, socklen_t length) noexcept {
  sockaddr_in target{};
  if (diverted != 0 && !is_between && address->sa_family == AF_INET && length == sizeof target) {
    std::memcpy(&target, address, sizeof target);
    meant = ntohs(target.sin_port);
    target.sin_port = htons(diverted);
    address = reinterpret_cast<sockaddr const*>(&target);
  }
  return static_cast<int>(::syscall(SYS_connect, socket, address, length));
}

}  // namespace
}  // namespace mpixrma::nam

/// Replaces the C library's connect() for UCX.
extern "C" __attribute__((visibility("default"))) int connect(int socket, sockaddr const* address,
                                                              socklen_t length) {
  return mpixrma::nam::connect_diverted(socket, address, length);
}

namespace mpixrma::nam {
namespace {

enum class Act { repeat, repeat_later, change };

/// The bytes that UCX sends in one direction: from the client first a number of `beginning` bytes, which
/// begins a connection, then messages of a header and a body.
class UcxStream {
 public:
  explicit UcxStream(std::size_t beginning) : beginning_(beginning) {}
  void add(std::vector<char> const& bytes) { input_.insert(input_.end(), bytes.begin(), bytes.end()); }
  /// Returns the next whole part; an empty one if there is none.
  std::vector<char> next() {
    constexpr std::size_t header_bytes = 5;
    std::size_t length = beginning_;
    if (length == 0 && input_.size() >= header_bytes) {
      std::uint32_t body = 0;
      std::memcpy(&body, input_.data() + 1, sizeof body);
      length = header_bytes + body;
    }
    if (length == 0 || input_.size() < length) return {};
    beginning_ = 0;
    auto const end = input_.begin() + static_cast<std::ptrdiff_t>(length);
    std::vector<char> const part(input_.begin(), end);
    input_.erase(input_.begin(), end);
    return part;
  }

 private:
  std::size_t beginning_;
  std::vector<char> input_;
};

/// Meddles with the first encrypted message of one direction that is sent after arm(): changes it, or repeats
/// it at once or also after each later one.
class Meddler {
 public:
  Meddler(Act act, bool changes_requests, std::uint64_t random)
      : act_(act), changes_requests_(changes_requests), random_(random) {}
  void arm() { is_armed_ = true; }
  bool has_meddled() const { return has_meddled_; }

  void operator()(bool from_client, std::vector<char>& bytes) {
    UcxStream& way = from_client ? requests_ : answers_;
    way.add(bytes);
    bytes.clear();
    for (std::vector<char> part = way.next(); !part.empty(); part = way.next()) {
      auto const sealed = sealed_header(part);
      bool const is_meant = is_armed_ && from_client == changes_requests_ && sealed != part.end();
      if (is_meant && !has_meddled_) {
        if (act_ == Act::change) change(part, sealed);
        kept_ = part;
      }
      bytes.insert(bytes.end(), part.begin(), part.end());
      bool const repeats = is_meant && (act_ == Act::repeat ? !has_meddled_ : act_ == Act::repeat_later);
      if (repeats) bytes.insert(bytes.end(), kept_.begin(), kept_.end());
      if (is_meant) has_meddled_ = true;
    }
  }

 private:
  using Place = std::vector<char>::iterator;
  static Place sealed_header(std::vector<char>& part) {
    std::uint32_t const magic = engine::wire::magic;
    auto const* const first = reinterpret_cast<char const*>(&magic);
    auto const found = std::search(part.begin(), part.end(), first, first + sizeof magic);
    bool const is_whole =
        part.end() - found >= static_cast<std::ptrdiff_t>(sizeof(engine::wire::SealedHeader));
    return is_whole ? found : part.end();
  }
  /// Changes one bit behind the SealedHeader, which is in plaintext.
  void change(std::vector<char>& part, Place sealed) const {
    Place const begin = sealed + sizeof(engine::wire::SealedHeader);
    auto const bits = 8 * static_cast<std::uint64_t>(part.end() - begin);
    if (bits == 0) return;
    std::uint64_t const bit = random_ % bits;
    char& byte = *(begin + static_cast<std::ptrdiff_t>(bit / 8));
    byte = static_cast<char>(byte ^ (1 << bit % 8));
  }

  Act act_;
  bool changes_requests_;
  std::uint64_t random_;
  std::atomic<bool> is_armed_ = false;
  std::atomic<bool> has_meddled_ = false;
  UcxStream requests_{8};
  UcxStream answers_{0};
  std::vector<char> kept_;
};

/// Called by the thread of the man in the middle.
FileDescriptor connect_as_meant() {
  is_between = true;
  return connect_tcp("127.0.0.1", meant, 5000);
}

class DataProxy : public ::testing::Test {
 protected:
  void SetUp() override {
    // Without keepalive, UCX does not report the end of a connection: each side has to notify the other one.
    ::setenv("UCX_KEEPALIVE_INTERVAL", "inf", 1);
    server_.start({"--size", "64M", "--listen", "none", "--interfaces", "lo", "--encrypt"});
    grant_ = server_.grant(1u << 20);
    process_ = server_.data_process(grant_);
  }
  void TearDown() override { ::unsetenv("UCX_KEEPALIVE_INTERVAL"); }
  void meddle(Act act, bool changes_requests, std::uint64_t random) {
    Session own = Session::open(grant_);
    WindowInfo const window = own.allocate({64}, {1});
    Session session = Session::open(grant_);
    std::vector<std::byte> const address = session.engine_address();
    std::uint64_t const exposure = session.join(window.id).exposure;
    Meddler meddler(act, changes_requests, random);
    TcpProxy const between(connect_as_meant,
                           [&](bool from, std::vector<char>& bytes) { meddler(from, bytes); });
    diverted = between.address().port;
    JobEngine job;
    job.connect(address);
    EXPECT_EQ(job.put(exposure, 0, pattern(8, 1)), 0);
    diverted = 0;
    EXPECT_FALSE(meddler.has_meddled());
    meddler.arm();
    std::optional<int> const status =
        job.put_within(act == Act::change ? 3000 : 60000, exposure, 8, pattern(8, 2));
    EXPECT_TRUE(meddler.has_meddled());
    if (act == Act::change) {
      EXPECT_NE(status, std::optional(0));
      EXPECT_TRUE(eventually([&] { return refusal([&] { (void)session.usage(); }).has_value(); }));
    } else {
      EXPECT_EQ(status, std::optional(0));
      for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(job.put(exposure, 16, pattern(8, 3 + i)), 0);
      EXPECT_FALSE(refusal([&] { (void)session.usage(); }));
    }
    std::vector<std::byte> expected(64);
    auto const put = [&](std::size_t at, unsigned seed) {
      std::vector<std::byte> const values = pattern(8, seed);
      std::copy(values.begin(), values.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
    };
    put(0, 1);
    if (act != Act::change || !changes_requests) put(8, 2);
    if (act != Act::change) put(16, 7);
    EXPECT_EQ(content(own, window, 0), expected);
    EXPECT_EQ(server_.data_process(grant_), process_);
  }

  TestServer server_;
  Locator grant_;
  pid_t process_ = 0;
};

TEST_F(DataProxy, RepeatedMessagesHaveNoEffect) {
  for (Act const act : {Act::repeat, Act::repeat_later}) {
    for (bool const changes_requests : {true, false}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(act)) + (changes_requests ? " request" : " answer"));
      meddle(act, changes_requests, 0);
    }
  }
}

TEST_F(DataProxy, ChangedMessageEndsItsSessionOnly) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 4; ++round) {
    bool const changes_requests = round % 2 == 0;
    std::uint64_t const bit = random();
    SCOPED_TRACE((changes_requests ? "request, " : "answer, ") + std::to_string(bit));
    meddle(Act::change, changes_requests, bit);
  }
}

}  // namespace
}  // namespace mpixrma::nam
