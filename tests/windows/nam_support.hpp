/// Memory servers for the tests of windows.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/liveness.hpp"
#include "nam/client/secrets.hpp"
#include "nam/client/spread.hpp"
#include "tests/nam/server_fixture.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {

inline constexpr std::uint64_t grant_bytes = 8u << 20;

/// Returns the number of servers over which the windows of the job are spread: MPIX_TEST_NAM_SERVERS.
inline int servers_of_job() {
  char const* const given = std::getenv("MPIX_TEST_NAM_SERVERS");
  return given != nullptr ? std::atoi(given) : 1;
}

/// Returns which processes are to reach which servers as if these ran on other hosts: MPIX_TEST_NAM_REMOTE is
/// "all", "odd" for the odd ranks, or "second" for the second server.
inline std::string_view remote_kind() {
  char const* const given = std::getenv("MPIX_TEST_NAM_REMOTE");
  return given != nullptr ? given : "";
}
/// Whether a rank is to reach the region of another rank as if on another host.
inline bool is_remote(int rank, int target) {
  if (remote_kind() == "second") return target % servers_of_job() == 1;
  return remote_kind() == "all" || (remote_kind() == "odd" && rank % 2 == 1);
}

/// Sets a variable of the environment for the lifetime of the object.
class Environment {
 public:
  Environment(char const* name, std::string const& value) : name_(name) {
    if (char const* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

 private:
  char const* name_;
  std::optional<std::string> before_;
};

/// The servers of the job: started by rank 0, and ended with the process, even if it is killed.
class JobServers : public ::testing::Environment {
 public:
  /// Starts servers for all tests of the program.
  static JobServers* begin(nam::TestServer::Arguments arguments = nam::TestServer::defaults()) {
    auto* const servers = new JobServers(std::move(arguments));
    ::testing::AddGlobalTestEnvironment(servers);  // GoogleTest owns it
    return servers;
  }
  void SetUp() override {
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    struct {
      char grants[1000];
      char secret[300];
    } told{};
    if (rank == 0) {
      std::string all;
      for (int i = 0; i < servers_of_job(); ++i) {
        servers_.push_back({std::make_unique<nam::TestServer>(), arguments_, {}});
        std::string const secret = servers_.front().server->directory() / "secret";
        std::ranges::copy(secret, told.secret);
        ::setenv("MPIX_NAM_SECRET_FILE", told.secret, 1);
        remote_kind().empty() ? start(servers_.back()) : start_for_all_hosts(servers_.back());
        nam::Locator grant = servers_.back().grant;
        if (i == 1 && remote_kind() == "second") grant.address.unix_path.clear();
        all += (i == 0 ? "" : ",") + nam::format(grant);
      }
      std::ranges::copy(all, told.grants);
    }
    MPI_Bcast(&told, sizeof told, MPI_CHAR, 0, world);
    ::setenv("MPIX_NAM_ALLOCATION", told.grants, 1);
    ::setenv("MPIX_NAM_SECRET_FILE", told.secret, 1);
    if (is_remote(rank, 0)) ::setenv("MPIX_NAM_TCP", "1", 1);
    grants_ = nam::parse_grants(told.grants);
  }
  void TearDown() override {
    MPI_Barrier(world);  // in the last test each process may have used the servers independently
    servers_.clear();
  }

  /// Returns the grants, one of each server.
  std::vector<nam::Locator> const& grants() const { return grants_; }
  /// To be called by rank 0.
  nam::TestServer& server(std::size_t index = 0) { return *servers_[index].server; }

  // Kills all servers. To be called by rank 0.
  void kill() {
    for (std::size_t i = 0; i < servers_.size(); ++i) kill(i);
  }
  void kill_data_processes() const {
    for (Started const& each : servers_) end(each.server->data_process(each.grant));
  }
  void start_again() {
    for (std::size_t i = 0; i < servers_.size(); ++i) start_again(i);
  }

  // Kills one server, all of its processes at once.
  void kill(std::size_t index) {
    Started& each = servers_[index];
    pid_t const data_process = each.server->data_process(each.grant);
    each.server->kill();
    end(data_process);
  }
  void start_again(std::size_t index) {
    Started& each = servers_[index];
    each.server->start_bound(each.arguments);
  }

 private:
  struct Started {
    std::unique_ptr<nam::TestServer> server;
    nam::TestServer::Arguments arguments;
    nam::Locator grant;
  };

  static void start(Started& each) {
    each.server->start_bound(each.arguments);
    each.grant = each.server->grant(grant_bytes);
  }
  /// Starts the server such that a restarted server listens at the same port.
  static void start_for_all_hosts(Started& each) {
    each.arguments.insert(each.arguments.end(), {"--interfaces", "lo"});
    auto const listen = std::ranges::find(each.arguments, "none");
    *listen = "127.0.0.1:0";
    start(each);
    *listen = "127.0.0.1:" + std::to_string(each.grant.address.port);
    nam::Json const told = each.server->ask({{"op", "secret"}});
    nam::write_secret(nam::secret_file(each.grant.address),
                      nam::secret_from_hex(told.at("secret").get<std::string>()));
  }
  static void end(pid_t process) {
    ::kill(process, SIGKILL);
    EXPECT_TRUE(nam::eventually([=] { return !engine::process_is_alive(process); }));
  }
  explicit JobServers(nam::TestServer::Arguments arguments) : arguments_(std::move(arguments)) {}

  nam::TestServer::Arguments arguments_;
  std::vector<Started> servers_;
  std::vector<nam::Locator> grants_;
};

/// Evicts a persistent window with all of its parts.
inline void evict(std::string const& port) {
  for (nam::WindowInfo const& part : nam::find_parts(port))
    nam::Client(nam::parse_locator(part.port).address).request({{"op", "evict"}, {"port", part.port}});
}

/// Returns the port name of a window that does not exist.
inline std::string port_of_no_window(nam::Locator grant) {
  grant.window = std::string(32, '0');
  return nam::format(grant);
}

/// Returns the error of an operation's call, or else of its completion.
inline int outcome_of(int code, int rank, MPI_Win window) {
  return code != MPI_SUCCESS ? code : MPI_Win_flush(rank, window);
}

}  // namespace mpixrma::test
