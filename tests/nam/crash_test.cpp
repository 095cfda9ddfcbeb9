/// Random operations and kills, compared with a model: guaranteed data survive each restart.
/// MPIX_NAM_CRASH_ROUNDS is the number of rounds: 10,000 in manual runs. MPIX_TEST_SEED repeats a run.
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "nam/client/spread_allocation.hpp"
#include "tests/nam/server_fixture.hpp"
#include "tests/support/full_length.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::nam {
namespace {

using Bytes = std::vector<std::byte>;

std::uint64_t parameter(char const* name, std::uint64_t otherwise) {
  char const* const given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

/// The possible contents of a window, region behind region: for bytes that were being written when a server
/// died, the old value or one of the new values.
struct ModelWindow {
  std::uint64_t ranks;
  std::size_t region_bytes;
  Bytes certain;
  std::map<std::size_t, Bytes> possible;
  bool may_be_gone = false;
};

/// The servers and their storage; windows are spread over several servers, in stripes if `chunk_bytes` is
/// not 0.
struct Setting {
  char const* name;
  char const* storage;
  std::size_t servers;
  std::uint64_t chunk_bytes;
};

class Model : public ::testing::TestWithParam<Setting> {
 protected:
  void start() {
    for (std::size_t i = 0; i < GetParam().servers; ++i) {
      servers_.emplace_back().start(arguments());
      grants_.push_back(servers_.back().grant(4u << 20));
    }
  }
  static TestServer::Arguments arguments() {
    return {"--size", "64M", "--listen", "none", "--storage", GetParam().storage, "--log-level", "error"};
  }
  static bool is_file() { return std::string(GetParam().storage) == "file"; }
  Spread spread_of(ModelWindow const& window) const {
    return spread_over(grants_, window.ranks, GetParam().chunk_bytes);
  }

  /// Returns false if a server was killed meanwhile, so that the outcome is unknown, or the window is gone.
  template <typename Action>
  bool attempt(Action action, bool may_be_gone = false) {
    try {
      action();
      return true;
    } catch (Error const& error) {
      EXPECT_TRUE(error.code() == ErrorCode::unavailable ||
                  (may_be_gone && error.code() == ErrorCode::not_found))
          << error.what();
      return false;
    }
  }

  void allocate() {
    std::uint64_t const ranks = 1 + random_() % 3;
    std::size_t const bytes = 1 + random_() % 20000;
    if (windows_.size() >= 8) return;
    bool const done = attempt([&] {
      std::vector<Session> sessions;
      WindowOptions const options{.persistent = true, .chunk_bytes = GetParam().chunk_bytes};
      auto const parts =
          allocate_parts(grants_, std::vector(ranks, bytes), std::vector(ranks, 1ul), options, &sessions);
      windows_[parts.front().port] = {ranks, bytes, Bytes(ranks * bytes), {}, false};
    });
    if (!done) unsure_parts_ += grants_.size();
  }

  /// Calls `move(part, place, offset, begin, bytes)` for each piece of [begin, end) of a window's bytes.
  template <typename Move>
  void for_each_piece(ModelWindow const& window, std::size_t begin, std::size_t end, Move move) const {
    Spread const spread = spread_of(window);
    while (begin < end) {
      std::uint64_t const within = begin % window.region_bytes;
      Spread::Location const at = spread.find(begin / window.region_bytes, within);
      std::size_t const bytes = std::min({end - begin, window.region_bytes - within, at.bytes});
      move(at.part, at.place, at.offset, begin, bytes);
      begin += bytes;
    }
  }

  void write() {
    if (windows_.empty()) return;
    auto& [port, window] = pick();
    std::size_t const offset = random_() % window.certain.size();
    Bytes values(1 + random_() % (window.certain.size() - offset));
    for (std::byte& value : values) value = static_cast<std::byte>(random_());
    auto const put = [&, &port = port, &window = window] {
      std::vector<Session> sessions;
      std::vector<WindowInfo> const parts = find_parts(port, &sessions);
      for_each_piece(window, offset, offset + values.size(),
                     [&](auto part, auto place, auto there, auto begin, auto bytes) {
                       sessions[part].write(parts[part], place, there,
                                            std::span(values).subspan(begin - offset, bytes));
                     });
      for (std::size_t part = 0; part < parts.size(); ++part) sessions[part].persist(parts[part]);
    };
    bool const done = attempt(put, window.may_be_gone);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (done) window.possible.erase(offset + i);
      if (done) window.certain[offset + i] = values[i];
      if (!done) window.possible[offset + i].push_back(values[i]);
    }
  }

  static Json evict_at(std::string const& port) {
    return Client(parse_locator(port).address).request({{"op", "evict"}, {"port", port}});
  }

  /// The first part is removed first: without it the others cannot be found.
  void evict() {
    if (windows_.empty() || random_() % 4 != 0) return;
    auto& [port, window] = pick();
    std::vector<std::string> others;
    auto const first = [&, &port = port] {
      others = field<std::vector<std::string>>(evict_at(port), "other_parts");
    };
    if (!attempt(first, window.may_be_gone)) {
      window.may_be_gone = true;
      unsure_parts_ += grants_.size();
      return;
    }
    windows_.erase(std::string(port));
    for (std::string const& other : others) {
      if (!attempt([&] { evict_at(other); })) ++unsure_parts_;
    }
  }

  std::pair<std::string const, ModelWindow>& pick() {
    return *std::next(windows_.begin(), static_cast<std::ptrdiff_t>(random_() % windows_.size()));
  }

  /// Kills some of the processes of a server during operations. Restarts the server if its main process was
  /// killed.
  void crash() {
    std::size_t const number = random_() % servers_.size();
    TestServer& server = servers_[number];
    bool const control = random_() % 2 == 0;
    bool const data = !control || random_() % 2 == 0;
    // The control process ends with the main process.
    bool const main = control && random_() % 2 == 0;
    pid_t const controller = main ? server.pid() : server.control_process();
    pid_t const process = server.data_process(grants_[number]);
    auto const delay = std::chrono::microseconds(random_() % 3000);
    std::thread killer([&] {
      std::this_thread::sleep_for(delay);
      if (data) ::kill(process, SIGKILL);
      if (control) ::kill(controller, SIGKILL);
    });
    for (int i = 0; i < 3; ++i) operate();
    killer.join();
    EXPECT_TRUE(!data || eventually([&] { return ::kill(process, 0) != 0; }));
    if (main) {
      EXPECT_EQ(server.exit_code(10000), 128 + SIGKILL);
      server.start(arguments());
    }
    EXPECT_TRUE(eventually([&] { return server.answers(); }));
    if (main && data && !is_file()) lose(number);
  }

  /// The server has lost everything; of windows with parts there, the other parts remain.
  void lose(std::size_t server) {
    std::erase_if(windows_, [&](auto const& entry) {
      std::size_t const parts = spread_of(entry.second).parts();
      if (server >= parts) return false;
      unsure_parts_ += parts - 1;
      return true;
    });
  }

  void operate() {
    switch (random_() % 4) {
      case 0: return allocate();
      case 1: return evict();
      default: return write();
    }
  }

  void check(std::string const& port, ModelWindow& window) {
    std::vector<Session> sessions;
    std::vector<WindowInfo> const parts = find_parts(port, &sessions);
    std::vector<WindowRegion> const regions = regions_of(parts);
    ASSERT_EQ(regions.size(), window.ranks);
    for (WindowRegion const& region : regions) ASSERT_EQ(region.bytes, window.region_bytes);
    Bytes found(window.certain.size());
    for_each_piece(window, 0, found.size(), [&](auto part, auto place, auto there, auto begin, auto bytes) {
      sessions[part].read(parts[part], place, there, std::span(found).subspan(begin, bytes));
    });
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

  /// Returns all persistent windows and parts of windows at the servers.
  std::set<std::string> listed() const {
    std::set<std::string> ports;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      auto const is_ready = [&] { return servers_[i].show(grants_[i]).at("ready").get<bool>(); };
      EXPECT_TRUE(eventually(is_ready));
      Json const shown = servers_[i].show(grants_[i]);
      for (Json const& each : shown.at("window_list")) ports.insert(each.at("port").get<std::string>());
    }
    return ports;
  }

  /// Windows and parts whose creation or eviction was not confirmed may exist, too.
  void compare() {
    std::set<std::string> ports = listed();
    for (auto window = windows_.begin(); window != windows_.end();) {
      bool const there = ports.contains(window->first);
      ASSERT_TRUE(there || window->second.may_be_gone) << window->first << " is lost";
      if (there) {
        for (WindowInfo const& part : find_parts(window->first))
          ASSERT_EQ(ports.erase(part.port), 1u) << part.port << " is not in the list";
        check(window->first, window->second);
      }
      window = there ? std::next(window) : windows_.erase(window);
    }
    ASSERT_LE(ports.size(), unsure_parts_);
    // An adopted data process removes unconfirmed windows, perhaps only now.
    for (std::string const& port : ports) (void)attempt([&] { evict_at(port); }, true);
    unsure_parts_ = 0;
  }

  std::deque<TestServer> servers_;
  std::vector<Locator> grants_;
  std::map<std::string, ModelWindow> windows_;  ///< by the port names of their first parts
  std::size_t unsure_parts_ = 0;
  std::mt19937_64 random_;
};

INSTANTIATE_TEST_SUITE_P(Storages, Model,
                         ::testing::Values(Setting{"file", "file", 1, 0}, Setting{"memory", "memory", 1, 0},
                                           Setting{"spread_file", "file", 2, 0},
                                           Setting{"striped_file", "file", 2, chunk_granularity},
                                           Setting{"striped_memory", "memory", 3, chunk_granularity}),
                         [](auto const& setting) { return std::string(setting.param.name); });

TEST_P(Model, PersistentDataSurviveRandomKills) {
  std::uint64_t const seed = parameter("MPIX_TEST_SEED", std::random_device()());
  std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  start();
  std::uint64_t const otherwise =
      std::max(1, (GetParam().servers == 1 ? 10 : 2) / (test::slowness * test::shortened(2)));
  std::uint64_t const rounds = parameter("MPIX_NAM_CRASH_ROUNDS", otherwise);
  for (std::uint64_t round = 0; round < rounds && !HasFatalFailure(); ++round) {
    for (int i = 0; i < 4; ++i) operate();
    crash();
    compare();
  }
}

}  // namespace
}  // namespace mpixrma::nam
