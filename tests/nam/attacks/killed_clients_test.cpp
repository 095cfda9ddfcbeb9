/// Clients of the network that are killed while their engines connect, send and receive.
#include <sys/wait.h>

#include <cstdlib>
#include <random>

#include "tests/nam/job_engine.hpp"
#include "tests/nam/windows_of_server.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

class KilledClients : public ::testing::TestWithParam<char const*> {
 protected:
  void SetUp() override {
    TestServer::Arguments arguments{"--size", "64M", "--listen", "none", "--interfaces", "lo"};
    if (GetParam() == std::string("encrypted")) arguments.emplace_back("--encrypt");
    server_.start(arguments);
    grant_ = server_.grant(16u << 20);
    process_ = server_.data_process(grant_);
    ::setenv("UCX_TLS", "tcp", 1);
  }
  void TearDown() override { ::unsetenv("UCX_TLS"); }

  /// Puts and gets until it is killed.
  void work(std::string const& window, int report_fd) const {
    Session session = Session::open(grant_);
    std::vector<std::byte> const address = session.engine_address();
    WindowInfo const joined = session.join(window);
    JobEngine job;
    (void)!::write(report_fd, "c", 1);
    job.connect(address);
    std::vector<std::byte> values(2u << 20);
    while (job.put(joined.exposure, 0, values) == 0 && job.get(joined.exposure, 0, values) == 0) {
    }
    std::fprintf(stderr, "client: an operation failed\n");
  }

  TestServer server_;
  Locator grant_;
  pid_t process_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Network, KilledClients, ::testing::Values("plain", "encrypted"),
                         [](auto const& network) { return network.param; });

TEST_P(KilledClients, DoNotEndTheDataProcess) {
  std::mt19937_64 random(test::seed());
  constexpr int rounds = 60;
  Session session = Session::open(grant_);
  WindowInfo const window = session.allocate({4u << 20}, {1});
  for (int round = 0; round < rounds; ++round) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);
    pid_t const child = ::fork();
    if (child == 0) {
      try {
        work(window.id, ends[1]);
      } catch (std::exception const& error) {
        std::fprintf(stderr, "client: %s\n", error.what());
      }
      ::_exit(1);
    }
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    ::close(ends[0]);
    // In half of the rounds, the client is killed while it connects.
    ::usleep(static_cast<unsigned>(random() % (round % 2 == 0 ? 3000 : 20000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    ASSERT_EQ(server_.data_process(grant_), process_) << "round " << round;
  }
  session.write(window, 0, 0, pattern(4096, 1));
}

}  // namespace
}  // namespace mpixrma::nam
