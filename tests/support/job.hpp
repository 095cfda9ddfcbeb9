/// A job of forked processes with an engine each, for tests of the engine without MPI.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/bootstrap/file_bootstrap.h"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/mpix_engine.h"
#include "tests/support/slowness.hpp"

namespace mpixrma::test {

constexpr int max_ranks = 8;

/// Memory that all processes of the job share, created before they are forked.
struct Blackboard {
  pthread_barrier_t barrier;
  std::uint64_t values[max_ranks][16];
  bool dies[max_ranks];
};

/// The environment of one process's body.
class Rank {
 public:
  Rank(Blackboard& board, int rank, int size, engine::Engine& engine, mpix_bootstrap const& bootstrap)
      : board_(board), rank_(rank), size_(size), engine_(engine), bootstrap_(bootstrap) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  engine::Engine& engine() const { return engine_; }
  engine::Peer& peer(int rank) const { return *engine().peers.find(process_of(rank)); }

  /// Blocks in the kernel: the caller does not drive the engine meanwhile.
  void barrier() const {
    // The engine's locks order the agents' accesses to memory with those of this thread in a way that the
    // thread sanitizer sees; it does not see ordering through other processes.
    (void)engine().traffic.statistics();
    pthread_barrier_wait(&board_.barrier);
    (void)engine().traffic.statistics();
  }

  /// Publishes `value` to the other processes, which read it with published() after a barrier.
  void publish(int slot, std::uint64_t value) const { board_.values[rank_][slot] = value; }
  void publish(int slot, void const* pointer) const {
    publish(slot, reinterpret_cast<std::uint64_t>(pointer));
  }
  std::uint64_t published(int rank, int slot) const { return board_.values[rank][slot]; }
  std::uint64_t const* place(int rank, int slot) const { return &board_.values[rank][slot]; }

  /// The same without barriers, for jobs in which processes die: wait_for_value() returns whether `rank` has
  /// signalled `value` within the time.
  void signal(int slot, std::uint64_t value) const {
    __atomic_store_n(&board_.values[rank_][slot], value, __ATOMIC_RELEASE);
  }
  bool wait_for_value(int rank, int slot, std::uint64_t value, int seconds = 20) const {
    for (int i = 0; i < seconds * 1000 * slowness; ++i) {
      if (__atomic_load_n(&board_.values[rank][slot], __ATOMIC_ACQUIRE) == value) return true;
      ::usleep(1000);
    }
    return false;
  }

  /// Returns the publication of a rank.
  std::span<std::byte const> address_of(int rank) const {
    void const* address = nullptr;
    std::size_t length = 0;
    EXPECT_EQ(bootstrap_.peer_address(bootstrap_.context, process_of(rank), &address, &length), 0);
    return {static_cast<std::byte const*>(address), length};
  }

  /// Announces that process `rank` will be killed.
  void expect_death(int rank) const { board_.dies[rank] = true; }

  /// Ends this process at once, as if killed from outside; the job expects it.
  [[noreturn]] void die() const {
    board_.dies[rank_] = true;
    engine_.between_sends([] { ::kill(::getpid(), SIGKILL); });
    for (;;) ::pause();
  }

  static std::uint64_t process_of(int rank) { return 0x100 + static_cast<std::uint64_t>(rank); }

 private:
  Blackboard& board_;
  int rank_;
  int size_;
  engine::Engine& engine_;
  mpix_bootstrap const& bootstrap_;
};

/// A new directory for a job, removed with its contents.
class JobDirectory {
 public:
  JobDirectory() { EXPECT_NE(::mkdtemp(path_), nullptr); }
  ~JobDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  JobDirectory(JobDirectory const&) = delete;
  JobDirectory& operator=(JobDirectory const&) = delete;

  char const* path() const { return path_; }

 private:
  char path_[32] = "/tmp/mpix-job-XXXXXX";
};

/// The `configure` argument of run_job: a function of the configuration, or of the configuration and the
/// rank.
class Configure {
 public:
  template <typename Function>
  Configure(Function function)
      : function_([function](mpix_engine_config& config, int rank) {
          if constexpr (std::is_invocable_v<Function, mpix_engine_config&, int>) {
            function(config, rank);
          } else {
            function(config);
          }
        }) {}

  void operator()(mpix_engine_config& config, int rank) const { function_(config, rank); }

 private:
  std::function<void(mpix_engine_config&, int)> function_;
};

/// Whether the processes of a job also synchronise after the body, or may end at any time. All processes
/// synchronise before the body.
enum class JobKind { synchronised, mortal };

/// Returns the environment's setting, or `otherwise`. The `configure` function of a test may replace it.
inline int chosen_for_tests(char const* variable, int otherwise) {
  char const* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::atoi(given);
}

/// Returns the size of batches from MPIX_TEST_BATCH, with "never" for none, or the default.
inline std::size_t batch_bytes_of_tests() {
  char const* const given = std::getenv("MPIX_TEST_BATCH");
  if (given == nullptr) return 0;
  return std::strcmp(given, "never") == 0 ? MPIX_ENGINE_NO_BATCHES : std::strtoul(given, nullptr, 10);
}

/// Returns the wait status of each child. If a status does not satisfy `is_well`, kills all remaining
/// children after a grace period, because they may wait for that child in vain.
inline std::vector<int> ends_of(std::vector<pid_t> const& children,
                                std::function<bool(std::size_t rank, int status)> const& is_well) {
  constexpr int grace_ms = 30000 * slowness;
  std::vector<int> statuses(children.size(), 0);
  std::vector<bool> ended(children.size(), false);
  std::size_t left = children.size();
  int alone_ms = -1;  // since the first one with a bad status
  while (left != 0) {
    for (std::size_t rank = 0; rank < children.size(); ++rank) {
      if (ended[rank] || ::waitpid(children[rank], &statuses[rank], WNOHANG) != children[rank]) continue;
      ended[rank] = true;
      --left;
      if (alone_ms < 0 && !is_well(rank, statuses[rank])) alone_ms = 0;
    }
    for (std::size_t rank = 0; rank < children.size() && alone_ms == grace_ms; ++rank) {
      if (!ended[rank]) ::kill(children[rank], SIGKILL);
    }
    if (alone_ms >= 0) ++alone_ms;
    ::usleep(1000);
  }
  return statuses;
}

/// Runs `body` in `ranks` processes whose engines are configured by `configure`, and expects each of them to
/// end without a failed expectation, or by SIGKILL after Rank::die() or Rank::expect_death().
inline void run_job(int ranks, Configure const& configure, std::function<void(Rank&)> const& body,
                    JobKind kind = JobKind::synchronised) {
  auto* const board = static_cast<Blackboard*>(
      ::mmap(nullptr, sizeof(Blackboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(board, MAP_FAILED);
  JobDirectory const directory;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&board->barrier, &attributes, static_cast<unsigned>(ranks));

  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t const pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid != 0) {
      children.push_back(pid);
      continue;
    }
    mpix_engine_config config;
    mpix_engine_config_init(&config);
    config.channels = chosen_for_tests("MPIX_TEST_CHANNELS", 1);
    config.one_host = chosen_for_tests("MPIX_TEST_ONE_HOST", 0);
    config.agent_linger_us = chosen_for_tests("MPIX_TEST_LINGER", 0);
    config.batch_bytes = batch_bytes_of_tests();
    configure(config, rank);
    constexpr int timeout_ms = 10000 * slowness;
    mpix_file_bootstrap_t* files = nullptr;
    if (mpix_file_bootstrap_open(directory.path(), Rank::process_of(rank), timeout_ms, &files) != 0)
      ::_exit(2);
    mpix_bootstrap const& bootstrap = *mpix_file_bootstrap_get(files);
    mpix_engine_t* engine = nullptr;
    if (mpix_engine_create(&config, &bootstrap, &engine) != 0) ::_exit(2);
    Rank self(*board, rank, ranks, *static_cast<engine::Engine*>(engine), bootstrap);
    pthread_barrier_wait(&board->barrier);
    body(self);
    if (kind == JobKind::synchronised) self.barrier();
    mpix_engine_destroy(engine);
    mpix_file_bootstrap_close(files);
    bool const failed = ::testing::Test::HasFailure();
    std::fflush(nullptr);
    ::_exit(failed ? 1 : 0);
  }
  auto const is_well = [board](std::size_t rank, int status) {
    return board->dies[rank] ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                             : WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  std::vector<int> const statuses = ends_of(children, is_well);
  for (std::size_t rank = 0; rank < statuses.size(); ++rank)
    EXPECT_TRUE(is_well(rank, statuses[rank]))
        << "process " << rank << " of the job ended with status " << statuses[rank];
  // The barrier is not destroyed: pthread_barrier_destroy() would wait for processes killed in the barrier.
  ::munmap(board, sizeof(Blackboard));
}

}  // namespace mpixrma::test
