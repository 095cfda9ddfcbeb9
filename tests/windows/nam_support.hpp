/// A memory server for the tests of windows.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "engine/peer/liveness.hpp"
#include "tests/nam/server_fixture.hpp"
#include "tests/windows/support.hpp"

namespace mpix::test {

inline constexpr std::uint64_t grant_bytes = 8u << 20;

/// Whether a rank is to reach the server as if it ran on another host: MPIX_TEST_NAM_REMOTE is "all", or
/// "odd" for the odd ranks.
inline bool is_remote(int rank) {
  char const* const given = std::getenv("MPIX_TEST_NAM_REMOTE");
  if (given == nullptr) return false;
  return std::string_view(given) == "all" || rank % 2 == 1;
}

/// A variable of the environment, as long as the object lives.
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

/// Of the job: started by rank 0, ended with the process, be it killed.
class JobServer : public ::testing::Environment {
 public:
  /// For all tests of the program.
  static JobServer* begin(nam::TestServer::Arguments arguments = nam::TestServer::defaults()) {
    auto* const server = new JobServer(std::move(arguments));
    ::testing::AddGlobalTestEnvironment(server);  // which owns it
    return server;
  }
  void SetUp() override {
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    struct {
      char locator[300];
      char secret[300];
    } told{};
    if (rank == 0) {
      server_ = std::make_unique<nam::TestServer>();
      std::filesystem::path const secret = server_->directory() / "secret";
      std::string const made = is_remote(1) ? start_for_all_hosts(secret) : start();
      std::copy(made.begin(), made.end(), told.locator);
      std::ranges::copy(secret.string(), told.secret);
    }
    MPI_Bcast(&told, sizeof told, MPI_CHAR, 0, world);
    ::setenv("MPIX_NAM_ALLOCATION", told.locator, 1);
    ::setenv("MPIX_NAM_SECRET_FILE", told.secret, 1);
    if (is_remote(rank)) ::setenv("MPIX_NAM_TCP", "1", 1);
    locator_ = told.locator;
  }
  void TearDown() override { server_.reset(); }

  nam::TestServer& server() { return *server_; }
  std::string const& locator() const { return locator_; }

  /// All of its processes at once. By rank 0.
  void kill() {
    pid_t const data_process = server_->data_process(nam::parse_locator(locator_));
    server_->kill();
    end(data_process);
  }
  void kill_data_process() const { end(server_->data_process(nam::parse_locator(locator_))); }
  void start_again() { server_->start_bound(arguments_); }

 private:
  /// The locator of a grant.
  std::string start() {
    server_->start_bound(arguments_);
    return nam::format(server_->grant(grant_bytes));
  }
  /// The same; started again, it listens at the same port.
  std::string start_for_all_hosts(std::filesystem::path const& secret) {
    arguments_.insert(arguments_.end(), {"--interfaces", "lo"});
    auto const listen = std::ranges::find(arguments_, "none");
    *listen = "127.0.0.1:0";
    std::string const made = start();
    *listen = "127.0.0.1:" + std::to_string(nam::parse_locator(made).address.port);
    nam::Json const told = server_->ask({{"op", "secret"}});
    nam::write_secret(secret, nam::secret_from_hex(told.at("secret").get<std::string>()));
    return made;
  }
  static void end(pid_t process) {
    ::kill(process, SIGKILL);
    EXPECT_TRUE(nam::eventually([=] { return !engine::process_is_alive(process); }));
  }
  explicit JobServer(nam::TestServer::Arguments arguments) : arguments_(std::move(arguments)) {}

  nam::TestServer::Arguments arguments_;
  std::unique_ptr<nam::TestServer> server_;
  std::string locator_;
};

/// Of an operation: its call has failed, or it has when it is complete.
inline int outcome_of(int code, int rank, MPI_Win window) {
  return code != MPI_SUCCESS ? code : MPI_Win_flush(rank, window);
}

/// The string of an error code.
inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

}  // namespace mpix::test
