/// Attacks on grants: more or larger grants, or for a longer time, than the server has or permits.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <regex>
#include <string>
#include <vector>

#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr std::uint64_t own_bytes = 16u << 20;  ///< that a user may grant to himself

TEST(Grants, RevokedDuringPreparationReplyToTheirCreator) {
  TestServer server;
  server.start({"--size", "1G", "--listen", "none"});
  auto maker = std::async(std::launch::async,
                          [&] { return refusal([&] { server.grant(std::uint64_t{512} << 20); }); });
  Client other(server.address());
  Json grants = Json::array();
  while (grants.empty() || grants.at(0).at("pid") == 0) grants = other.request({{"op", "list"}}).at("grants");
  stop_process(grants.at(0).at("pid").get<pid_t>());
  std::string const grant = grants.at(0).at("grant");
  bool const prepares = other.request({{"op", "show"}, {"grant", grant}}).at("state") == "preparing";
  other.request({{"op", "revoke"}, {"grant", grant}});  // the server kills the process
  if (!prepares) GTEST_SKIP() << "the grant was ready at once";
  EXPECT_EQ(maker.get(), ErrorCode::not_found);
}

TEST(Grants, ReserveTheirMemory) {
  TestServer server;
  server.start({"--size", "1T", "--listen", "none"});
  EXPECT_EQ(refusal([&] { server.grant(std::uint64_t{900} << 30); }), ErrorCode::no_space);
  EXPECT_TRUE(server.ask({{"op", "list"}}).at("grants").empty());
  Locator const grant = server.grant(8u << 20);
  Session session = Session::open(grant);
  GrantMapping const memory = session.map();
  WindowInfo const window = session.allocate({8u << 20}, {1});
  std::vector<unsigned char> resident((8u << 20) / 4096);
  auto const all_resident = [&] {
    EXPECT_EQ(::mincore(memory.at(window.regions[0]), 8u << 20, resident.data()), 0);
    return std::all_of(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; });
  };
  EXPECT_TRUE(all_resident());
  // Also memory that a window has used.
  session.write(window, 0, 0, pattern(1u << 20, 1));
  session.release(window);
  EXPECT_TRUE(all_resident());
  EXPECT_EQ(content(session, session.allocate({1u << 20}, {1}), 0), std::vector<std::byte>(1u << 20));
}

TEST(Grants, OvercommitOnRequestOnly) {
  TestServer server;
  server.start({"--size", "1T", "--listen", "none", "--overcommit"});
  EXPECT_EQ(refusal([&] { server.grant(std::uint64_t{900} << 30); }), std::nullopt);
}

class OwnGrants : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    server_.start({"--size", "64M", "--listen", "none", "--self-service", "16M", "--max-user-grants", "5"});
    server_.admit_all_users();
  }
  Json revoke(Locator const& grant) const { return {{"op", "revoke"}, {"grant", grant.grant}}; }

  TestServer server_;
};

TEST_F(OwnGrants, AreLimitedInNumber) {
  EXPECT_TRUE(as_user(harmless, [&] {
    std::vector<Locator> grants;
    for (int i = 0; i < 5; ++i) grants.push_back(server_.grant(4096));
    bool const limited = refusal([&] { server_.grant(4096); }) == ErrorCode::quota;
    server_.ask(revoke(grants.front()));
    return limited && eventually([&] { return !refusal([&] { server_.grant(4096); }); });
  }));
  // An administrator grants more.
  EXPECT_EQ(refusal([&] { server_.grant(4096, {{"owner", std::to_string(harmless)}}); }), std::nullopt);
}

/// Returns how many KiB of the mapping that contains `address` are in the page tables of this process.
/// mincore() is not suitable: it counts every page of a file that the caller may not write, and the caller
/// may not write a grant that has ended.
long mapped_kibibytes(void const* address) {
  std::ifstream smaps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    long kibibytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      is_inside = begin <= reinterpret_cast<std::uintptr_t>(address) &&
                  reinterpret_cast<std::uintptr_t>(address) < end;
    if (is_inside && std::sscanf(line.c_str(), "Rss: %ld kB", &kibibytes) == 1) return kibibytes;
  }
  return -1;
}

/// A process that still maps the memory of a grant that has ended keeps none of its pages.
TEST_F(OwnGrants, ReleaseMemoryAlthoughItIsMapped) {
  EXPECT_TRUE(as_user(harmless, [&] {
    Locator const grant = server_.grant(8u << 20);
    Session session = Session::open(grant);
    GrantMapping const memory = session.map();
    WindowInfo const window = session.allocate({8u << 20}, {1});
    std::memset(memory.at(window.regions[0]), 1, 8u << 20);
    if (mapped_kibibytes(memory.at(window.regions[0])) != 8192) return false;
    server_.ask(revoke(grant));
    return eventually([&] { return mapped_kibibytes(memory.at(window.regions[0])) == 0; });
  }));
}

/// Memory of an ended grant that a client uses again counts for the client's user, as long as the server can
/// see this use.
TEST_F(OwnGrants, CountMemoryUsedAfterTheirEnd) {
  EXPECT_TRUE(as_user(harmless, [&] {
    Locator const grant = server_.grant(16u << 20);
    Session session = Session::open(grant);
    GrantMapping const memory = session.map();
    WindowInfo const window = session.allocate({16u << 20}, {1});
    std::byte* const bytes = memory.at(window.regions[0]);
    server_.ask(revoke(grant));
    bool refused = false;
    for (int round = 0; round < 200 && !refused; ++round) {
      std::memset(bytes, 1, 16u << 20);
      auto const code = refusal([&] { server_.grant(16u << 20); });
      refused = code == ErrorCode::quota;
      if (!code) break;
    }
    return refused && eventually([&] { return !refusal([&] { server_.grant(16u << 20); }); });
  }));
}

/// Opens a session of `grant`, gets the memory, and returns. A child process uses all of the memory until the
/// other end of `life` is closed.
void leave_memory_to_child(Locator const& grant, int life) {
  Client client(grant.address);
  (void)client.request({{"op", "open"}, {"grant", grant.grant}});
  std::vector<FileDescriptor> descriptors;
  (void)client.exchange({{"op", "map"}}, {}, nullptr, &descriptors);
  if (::fork() != 0) return;
  void* const memory =
      ::mmap(nullptr, own_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors.at(0).get(), 0);
  pollfd entry{life, POLLIN, 0};
  while (memory != MAP_FAILED && ::poll(&entry, 1, 0) == 0) std::memset(memory, 1, own_bytes);
}

/// A process that the server does not know uses the memory.
TEST_F(OwnGrants, CountMemoryOfAPassedDescriptor) {
  EXPECT_TRUE(as_user(harmless, [&] {
    Locator const grant = server_.grant(own_bytes);
    int life[2] = {-1, -1};
    if (::pipe2(life, O_CLOEXEC) != 0) return false;
    pid_t const client = ::fork();
    if (client == 0) {
      ::close(life[1]);
      leave_memory_to_child(grant, life[0]);
      ::_exit(0);
    }
    int status = 0;
    bool const passed = ::waitpid(client, &status, 0) == client && status == 0;
    server_.ask(revoke(grant));
    ::sleep(3);  // the server looks once a second
    bool const is_counted = server_.ask({{"op", "usage"}}).at("ending_grants") == 1;
    bool is_refused = false;
    for (int round = 0; round < 100 && !is_refused; ++round) {
      std::optional<Locator> other;
      is_refused = refusal([&] { other = server_.grant(own_bytes); }) == ErrorCode::quota;
      if (other) server_.ask(revoke(*other));
    }
    ::close(life[1]);
    return passed && is_counted && is_refused &&
           eventually([&] { return !refusal([&] { server_.grant(own_bytes); }); });
  }));
}

/// The data process has touched the pages of the control blocks, and these pages are not given back.
TEST_F(OwnGrants, CountControlBlocksThatAreKept) {
  EXPECT_TRUE(as_user(harmless, [&] {
    std::vector<FileDescriptor> control_blocks;
    for (int i = 0; i < 5; ++i) {
      Locator const grant = server_.grant(4096);
      control_blocks.push_back(std::move(mapped(grant).at(1)));
      server_.ask(revoke(grant));
    }
    ::sleep(3);  // the server looks once a second
    bool const is_counted = server_.ask({{"op", "usage"}}).at("ending_grants") == 5 &&
                            refusal([&] { server_.grant(4096); }) == ErrorCode::quota;
    control_blocks.clear();
    return is_counted && eventually([&] { return !refusal([&] { server_.grant(4096); }); });
  }));
}

/// The client keeps O_PATH descriptors, which do not count as open files.
TEST_F(OwnGrants, AreNotOpenedAgainAfterTheirEnd) {
  EXPECT_TRUE(as_user(harmless, [&] {
    Locator const grant = server_.grant(own_bytes);
    auto const path_of = [](FileDescriptor const& file) {
      return "/proc/self/fd/" + std::to_string(file.get());
    };
    std::vector<FileDescriptor> paths;
    for (FileDescriptor const& each : mapped(grant))
      paths.emplace_back(::open(path_of(each).c_str(), O_PATH | O_CLOEXEC));
    server_.ask(revoke(grant));
    bool const has_ended = eventually([&] {
      return server_.ask({{"op", "usage"}}).at("ending_grants") == 0;
    });
    return has_ended && paths.size() == 2 && std::all_of(paths.begin(), paths.end(), [&](auto const& each) {
             return ::open(path_of(each).c_str(), O_RDWR | O_CLOEXEC) < 0 && errno == EACCES;
           });
  }));
}

TEST_F(OwnGrants, AreExtendedByTheirCreatorsOnly) {
  Locator const given = server_.grant(1u << 20, {{"owner", std::to_string(harmless)}, {"seconds", 1000}});
  EXPECT_TRUE(as_user(harmless, [&] {
    Locator const own = server_.grant(1u << 20, {{"seconds", 1000}});
    Json const extend{{"op", "extend"}, {"grant", own.grant}, {"seconds", 5000}};
    Json const extend_given{{"op", "extend"}, {"grant", given.grant}};
    return server_.ask(extend).at("expires_in").get<int>() > 4000 &&
           refusal([&] { server_.ask(extend_given); }) == ErrorCode::denied;
  }));
  EXPECT_GT(server_.ask({{"op", "extend"}, {"grant", given.grant}, {"seconds", 5000}}).at("expires_in"),
            4000);
}

/// The number of lines about grants in a server's log, and of those that the server has omitted.
struct GrantLines {
  int written = 0;
  int omitted = 0;

  explicit GrantLines(std::filesystem::path const& log) {
    std::regex const about_grant("grant [0-9a-f]+ (of .* for |has ended|has expired)");
    std::regex const others("([0-9]+) lines about grants of ");
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
      std::smatch found;
      if (std::regex_search(line, about_grant)) ++written;
      if (std::regex_search(line, found, others)) omitted += std::stoi(found[1]);
    }
  }
};

constexpr int rounds = 60;
constexpr int burst_lines = 20;
constexpr int lines_per_second = 2;

TEST_F(OwnGrants, DoNotFillTheLog) {
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(as_user(harmless, [&] {
    for (int i = 0; i < rounds; ++i) server_.ask(revoke(server_.grant(1u << 20)));
    return true;
  }));
  auto const log = server_.directory() / "log";
  EXPECT_TRUE(eventually([&] { return GrantLines(log).written + GrantLines(log).omitted == 2 * rounds; }));
  auto const span = std::chrono::steady_clock::now() - begin;
  int const seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(span).count());
  EXPECT_LE(GrantLines(log).written, burst_lines + lines_per_second * seconds);
}

TEST_F(OwnGrants, DoNotFillTheLogByRepeatedExpiry) {
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(as_user(harmless, [&] {
    Json extend{{"op", "extend"}, {"grant", server_.grant(4096).grant}};
    for (int i = 0; i < rounds; ++i) {
      extend["seconds"] = 0;
      bool const has_expired = server_.ask(extend).at("state") == "expired";
      extend.erase("seconds");
      if (!has_expired || server_.ask(extend).at("state") == "expired") return false;
    }
    return true;
  }));
  auto const log = server_.directory() / "log";
  EXPECT_TRUE(eventually([&] { return GrantLines(log).written + GrantLines(log).omitted == rounds + 1; }));
  auto const span = std::chrono::steady_clock::now() - begin;
  int const seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(span).count());
  EXPECT_LE(GrantLines(log).written, burst_lines + lines_per_second * seconds);
}

}  // namespace
}  // namespace mpixrma::nam
