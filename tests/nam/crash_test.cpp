/// Random operations and kills against a model: what was promised is there after each restart. The rounds are
/// MPIX_NAM_CRASH_ROUNDS, by hand 10,000; MPIX_TEST_SEED repeats a run.
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "tests/nam/server_fixture.hpp"
#include "tests/support/slowness.hpp"

namespace mpix::nam {
namespace {

using Bytes = std::vector<std::byte>;

std::uint64_t parameter(char const* name, std::uint64_t otherwise) {
  char const* const given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

/// What a window may hold: of bytes that were being written when the server died, the old value or one of the
/// new.
struct ModelWindow {
  Bytes certain;
  std::map<std::size_t, Bytes> possible;
  bool may_be_gone = false;
};

class Model : public ::testing::TestWithParam<char const*> {
 protected:
  TestServer::Arguments arguments() const {
    return {"--size", "64M", "--listen", "none", "--storage", GetParam(), "--log-level", "error"};
  }
  bool is_file() const { return std::string(GetParam()) == "file"; }

  /// False: the server was killed meanwhile, and nobody knows whether it was done.
  template <typename Action>
  bool attempt(Action action) {
    try {
      action();
      return true;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
      return false;
    }
  }

  void allocate() {
    std::size_t const bytes = 1 + random_() % 20000;
    if (windows_.size() >= 8) return;
    unsure_windows_ += attempt([&] {
      Session session = Session::open(grant_);
      WindowInfo const window = session.allocate({bytes}, {1}, {.persistent = true});
      windows_[window.port] = {Bytes(bytes), {}, false};
    })
                           ? 0
                           : 1;
  }

  void write() {
    if (windows_.empty()) return;
    auto& [port, window] = pick();
    std::size_t const offset = random_() % window.certain.size();
    Bytes values(1 + random_() % (window.certain.size() - offset));
    for (std::byte& value : values) value = static_cast<std::byte>(random_());
    bool const done = attempt([&, &port = port] {
      WindowInfo info;
      Session session = Session::connect(port, &info);
      session.write(info, 0, offset, values);
      session.persist(info);
    });
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (done) window.possible.erase(offset + i);
      if (done) window.certain[offset + i] = values[i];
      if (!done) window.possible[offset + i].push_back(values[i]);
    }
  }

  void evict() {
    if (windows_.empty() || random_() % 4 != 0) return;
    auto& [port, window] = pick();
    if (attempt([&, &port = port] { server_.ask({{"op", "evict"}, {"port", port}}); })) {
      windows_.erase(std::string(port));
    } else {
      window.may_be_gone = true;
    }
  }

  std::pair<std::string const, ModelWindow>& pick() {
    return *std::next(windows_.begin(), static_cast<std::ptrdiff_t>(random_() % windows_.size()));
  }

  /// Kills some of the processes, while operations go on, and brings the server back.
  void crash() {
    bool const control = random_() % 2 == 0;
    bool const data = !control || random_() % 2 == 0;
    pid_t const process = server_.data_process(grant_);
    auto const delay = std::chrono::microseconds(random_() % 3000);
    std::thread killer([&] {
      std::this_thread::sleep_for(delay);
      if (data) ::kill(process, SIGKILL);
      if (control) ::kill(server_.pid(), SIGKILL);
    });
    for (int i = 0; i < 3; ++i) operate();
    killer.join();
    EXPECT_TRUE(!data || eventually([&] { return ::kill(process, 0) != 0; }));
    if (control) {
      EXPECT_EQ(server_.exit_code(10000), 128 + SIGKILL);
      server_.start(arguments());
    }
    if (control && data && !is_file()) {
      windows_.clear();
      unsure_windows_ = 0;
    }
  }

  void operate() {
    switch (random_() % 4) {
      case 0: return allocate();
      case 1: return evict();
      default: return write();
    }
  }

  void check(std::string const& port, ModelWindow& window) {
    WindowInfo info;
    Session session = Session::connect(port, &info);
    ASSERT_EQ(info.regions.size(), 1u);
    ASSERT_EQ(info.regions[0].bytes, window.certain.size());
    Bytes found(window.certain.size());
    session.read(info, 0, 0, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      Bytes const& possible = window.possible[i];
      bool const expected = found[i] == window.certain[i] ||
                            std::find(possible.begin(), possible.end(), found[i]) != possible.end();
      ASSERT_TRUE(expected) << "byte " << i << " of " << port;
    }
    window.certain = found;
    window.possible.clear();
    window.may_be_gone = false;
  }

  /// Windows that somebody was not told of may be there, too.
  void compare() {
    std::set<std::string> ports;
    ASSERT_TRUE(eventually([&] { return server_.show(grant_).at("ready").get<bool>(); }));
    Json const shown = server_.show(grant_);
    for (Json const& each : shown.at("window_list")) ports.insert(each.at("port").get<std::string>());
    for (auto window = windows_.begin(); window != windows_.end();) {
      bool const there = ports.erase(window->first) != 0;
      ASSERT_TRUE(there || window->second.may_be_gone) << window->first << " is lost";
      if (there) check(window->first, window->second);
      window = there ? std::next(window) : windows_.erase(window);
    }
    ASSERT_LE(ports.size(), unsure_windows_);
    for (std::string const& port : ports) server_.ask({{"op", "evict"}, {"port", port}});
    unsure_windows_ = 0;
  }

  TestServer server_;
  Locator grant_;
  std::map<std::string, ModelWindow> windows_;
  std::size_t unsure_windows_ = 0;
  std::mt19937_64 random_;
};

INSTANTIATE_TEST_SUITE_P(Storages, Model, ::testing::Values("file", "memory"));

TEST_P(Model, everything_persistent_is_there_after_random_kills) {
  std::uint64_t const seed = parameter("MPIX_TEST_SEED", std::random_device()());
  std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  server_.start(arguments());
  grant_ = server_.grant(4u << 20);
  std::uint64_t const rounds = parameter("MPIX_NAM_CRASH_ROUNDS", 10 / test::slowness);
  for (std::uint64_t round = 0; round < rounds && !HasFatalFailure(); ++round) {
    for (int i = 0; i < 4; ++i) operate();
    crash();
    compare();
  }
}

}  // namespace
}  // namespace mpix::nam
