/// The cores of the agent's thread.
#include "engine/runtime/placement.hpp"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

Cores cores(std::string_view list) {
  Cores result;
  EXPECT_TRUE(parse_cores(list, &result)) << list;
  return result;
}

TEST(Placement, ListsAreRead) {
  EXPECT_EQ(cores("0").count(), 1u);
  EXPECT_EQ(cores("3,1-2"), cores("1-3"));
  EXPECT_EQ(cores("0-7,16-23").count(), 16u);
  Cores ignored;
  for (char const* const wrong : {"", "a", "1-", "-1", "2-1", "1,", "1;2", "1024", "0-9999"})
    EXPECT_FALSE(parse_cores(wrong, &ignored)) << wrong;
}

TEST(Placement, AgentRunsOnUnboundCores) {
  EXPECT_EQ(cores_for_agent(cores("0"), cores("0-3"), {}), cores("1-3"));
  EXPECT_EQ(cores_for_agent(cores("0"), cores("0-3"), cores("1,2")), cores("3"));
  // Every core is in use: the agent stays on the cores of its process.
  EXPECT_TRUE(cores_for_agent(cores("0"), cores("0-1"), cores("1")).none());
  // Other processes may be bound to cores that this process must not use.
  EXPECT_EQ(cores_for_agent(cores("4"), cores("4-5"), cores("0-3")), cores("5"));
}

/// Returns the cores of this process's thread with the agent's name: there is one channel. Agents of
/// further channels move with their first event.
Cores cores_of_agent() {
  DIR* const threads = ::opendir("/proc/self/task");
  Cores found;
  while (dirent const* const entry = ::readdir(threads)) {
    std::string const directory = std::string("/proc/self/task/") + entry->d_name;
    std::string name;
    std::getline(std::ifstream(directory + "/comm"), name);
    if (name != "mpix-agent") continue;
    std::ifstream status(directory + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Cpus_allowed_list:\t")) found = cores(line.substr(line.find('\t') + 1));
    }
  }
  ::closedir(threads);
  return found;
}

void bind(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

class TwoCores : public ::testing::Test {
 protected:
  void SetUp() override {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    if (CPU_COUNT(&set) != 2 || !CPU_ISSET(0, &set) || !CPU_ISSET(1, &set))
      GTEST_SKIP() << "for a machine with cores 0 and 1";
  }
  static void wake_agent(test::Rank& rank) {
    static std::uint64_t word = 0;
    rank.publish(0, &word);
    rank.barrier();
    int const other = 1 - rank.rank();
    std::uint64_t const one = 1;
    RmaOp const add =
        contiguous(ReduceOp::sum, ElementType::uint64, &one, rank.published(other, 0), sizeof one);
    ASSERT_EQ(rank.engine().issue(rank.peer(other), add).status, Status::ok);
    rank.engine().order.complete(rank.peer(other), UINT64_MAX);
    rank.barrier();
    ::usleep(100000);
  }
};

TEST_F(TwoCores, AgentAvoidsCoreOfItsProcess) {
  auto const configure = [](mpix_engine_config& config) {
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    config.channels = 1;
    bind(0);  // both processes: core 1 is unused
  };
  test::run_job(2, configure, [](test::Rank& rank) {
    wake_agent(rank);
    EXPECT_EQ(cores_of_agent(), cores("1"));
  });
}

TEST_F(TwoCores, AgentStaysIfEveryCoreIsTaken) {
  auto const configure = [](mpix_engine_config& config, int rank) {
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    config.channels = 1;
    bind(static_cast<unsigned>(rank));
  };
  test::run_job(2, configure, [](test::Rank& rank) {
    wake_agent(rank);
    EXPECT_EQ(cores_of_agent(), cores(rank.rank() == 0 ? "0" : "1"));
  });
}

TEST_F(TwoCores, AgentRunsOnConfiguredCores) {
  auto const configure = [](mpix_engine_config& config, int rank) {
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    config.channels = 1;
    config.agent_cores = rank == 0 ? "bound" : "0-1";
    bind(0);
  };
  test::run_job(2, configure, [](test::Rank& rank) {
    wake_agent(rank);
    EXPECT_EQ(cores_of_agent(), cores(rank.rank() == 0 ? "0" : "0-1"));
  });
}

}  // namespace
}  // namespace mpixrma::engine
