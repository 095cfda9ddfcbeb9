/// The engine of a program that is not linked with the library: opened with the first window, not before.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

namespace fs = std::filesystem;

/// Number of agent threads in this process.
int agents() {
  int found = 0;
  for (fs::directory_entry const& thread : fs::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(thread.path() / "comm") >> name;
    found += name == "mpix-agent" ? 1 : 0;
  }
  return found;
}

/// Waits, because the agent's thread sets its name only when it first runs.
bool agent_appears() {
  for (int waited = 0; agents() == 0 && waited < 60000; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return agents() > 0;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// Every rank puts its value to each rank's window. Collective; returns the values received. `order` receives
/// info key mpix_order of the window; it is empty for windows of other components.
std::vector<long> exchange(MPI_Comm comm, long value, std::string* order = nullptr) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  long* own = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(long)) * size, sizeof(long), MPI_INFO_NULL, comm, &own,
                   &window);
  if (order != nullptr) *order = value_of(window, "mpix_order");
  std::fill_n(own, size, -1);
  MPI_Win_fence(0, window);
  for (int rank = 0; rank < size; ++rank)
    MPI_Put(&value, 1, MPI_LONG, rank, rank_in(comm), 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  std::vector<long> received(own, own + size);
  MPI_Win_free(&window);
  return received;
}

/// The values of all ranks of the communicator, by messages.
std::vector<long> gathered(MPI_Comm comm, long value) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<long> all(static_cast<std::size_t>(size));
  MPI_Allgather(&value, 1, MPI_LONG, all.data(), 1, MPI_LONG, comm);
  return all;
}

TEST(LateEngine, OpensWithTheFirstWindow) {
  int const rank = rank_in(MPI_COMM_WORLD);
  EXPECT_EQ(agents(), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(agents(), 0);
  // Half of the processes open their engines, then the other half; overlapping communicators follow.
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == turn ? 0 : MPI_UNDEFINED, rank, &some);
    if (some == MPI_COMM_NULL) continue;
    EXPECT_EQ(exchange(some, 10 + rank), gathered(some, 10 + rank));
    EXPECT_TRUE(agent_appears());
    MPI_Comm_free(&some);
  }
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &pair);
  EXPECT_EQ(exchange(pair, 20 + rank), gathered(pair, 20 + rank));
  MPI_Comm_free(&pair);
  EXPECT_EQ(exchange(MPI_COMM_WORLD, 30 + rank), gathered(MPI_COMM_WORLD, 30 + rank));
}

/// The threads of a process create its first windows at the same time. An engine with osc_mpix_channels=1 has
/// one agent.
TEST(LateEngine, OpensOnceForSeveralThreads) {
  constexpr std::size_t threads = 4;
  EXPECT_EQ(agents(), 0);
  std::array<MPI_Comm, threads> comms{};
  std::array<std::vector<long>, threads> received;
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  {
    std::vector<std::jthread> creators;
    for (std::size_t i = 0; i < threads; ++i) {
      creators.emplace_back([&received, &comms, i] {
        received[i] = exchange(comms[i], static_cast<long>(10 * i) + rank_in(comms[i]));
      });
    }
  }
  for (std::size_t i = 0; i < threads; ++i) {
    EXPECT_EQ(received[i], gathered(comms[i], static_cast<long>(10 * i) + rank_in(comms[i])));
    MPI_Comm_free(&comms[i]);
  }
  (void)exchange(MPI_COMM_WORLD, 0);
  EXPECT_TRUE(agent_appears());
  EXPECT_EQ(agents(), 1);
}

/// If one process lacks descriptors, all processes use another component.
TEST(LateEngine, IsUsedByNoRankIfOneLacksDescriptors) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool const is_last = rank_in(MPI_COMM_WORLD) == size - 1;
  struct rlimit usual {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  if (is_last) {
    auto const open = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    rlimit const few{static_cast<rlim_t>(open) + 2, usual.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  std::string order;
  std::vector<long> const received = exchange(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD), &order);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(received, gathered(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD)));
  EXPECT_EQ(order, "");
  if (is_last) EXPECT_EQ(agents(), 0);  // the engines of the other ranks stay open
}

}  // namespace
}  // namespace mpixrma::test
