/// A memory server for the tests of windows.
#pragma once

#include <algorithm>

#include "engine/peer/liveness.hpp"
#include "tests/nam/server_fixture.hpp"
#include "tests/windows/support.hpp"

namespace mpix::test {

inline constexpr std::uint64_t grant_bytes = 8u << 20;

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
    char locator[300] = "";
    if (rank == 0) {
      server_ = std::make_unique<nam::TestServer>();
      server_->start_bound(arguments_);
      std::string const made = nam::format(server_->grant(grant_bytes));
      std::copy(made.begin(), made.end(), locator);
    }
    MPI_Bcast(locator, sizeof locator, MPI_CHAR, 0, world);
    ::setenv("MPIX_NAM_ALLOCATION", locator, 1);
    locator_ = locator;
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
  static void end(pid_t process) {
    ::kill(process, SIGKILL);
    EXPECT_TRUE(nam::eventually([=] { return !engine::process_is_alive(process); }));
  }
  explicit JobServer(nam::TestServer::Arguments arguments) : arguments_(std::move(arguments)) {}

  nam::TestServer::Arguments arguments_;
  std::unique_ptr<nam::TestServer> server_;
  std::string locator_;
};

/// The string of an error code.
inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

}  // namespace mpix::test
