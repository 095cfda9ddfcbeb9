/// The program that spawn_test and killed_test spawn: exchanges data with its parents, and ends as requested.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fault/meeting.hpp"
#include "tests/fault/spawn.hpp"

namespace {

using mpixrma::test::exchange_in_window;
using mpixrma::test::Meeting;

/// In part "late" the library starts after the time that the parents wait for it.
std::atomic<bool> starts_late{false};
constexpr unsigned late_seconds = 13;

/// Adds to a parent's memory endlessly; is killed in the middle of it.
[[noreturn]] void stream_until_killed(Meeting& meeting) {
  std::vector<std::int64_t> const ones(Meeting::words - Meeting::sum_at, 1);
  for (;;) {
    for (int kind = 0; kind < Meeting::kinds; ++kind) {
      (void)meeting.sum(ones, 0, meeting.at(0, kind) + Meeting::sum_at);
    }
  }
}

}  // namespace

/// The library asks for the cores when it starts, behind MPI_Init of the MPI library.
extern "C" int sched_getaffinity(pid_t pid, std::size_t bytes, cpu_set_t* cores) noexcept {
  int is_initialized = 0;
  PMPI_Initialized(&is_initialized);
  if (is_initialized != 0 && starts_late.exchange(false)) ::sleep(late_seconds);
  return ::syscall(SYS_sched_getaffinity, pid, bytes, cores) < 0 ? -1 : 0;
}

int main(int argc, char** argv) {
  int provided = 0;
  starts_late = argc > 1 && std::strcmp(argv[1], "late") == 0;
  bool const is_late = starts_late;
  ::alarm(is_late ? 60 : mpixrma::test::spawn_seconds);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm parents = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parents);
  ::alarm(40);
  if (parents == MPI_COMM_NULL || argc < 2) return 1;
  char const* const part = argv[1];
  if (is_late) {
    MPI_Barrier(parents);
    MPI_Comm_disconnect(&parents);
    return MPI_Finalize();
  }
  bool const dies = std::strcmp(part, "killed") == 0 || std::strcmp(part, "waits") == 0;
  auto meeting = std::make_unique<Meeting>(parents);
  meeting->exchange();
  if (!dies) meeting->fill();
  int const failures = meeting->failures();
  if (failures != 0) std::fprintf(stderr, "spawned process: %d values or results are wrong\n", failures);
  int theirs = 0;
  MPI_Allreduce(&failures, &theirs, 1, MPI_INT, MPI_SUM, parents);
  if (dies) {
    pid_t const mine = ::getpid();
    std::vector<pid_t> pids(static_cast<std::size_t>(meeting->others()));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, pids.data(), sizeof mine, MPI_BYTE, parents);
  }
  if (std::strcmp(part, "waits") == 0) ::pause();
  if (std::strcmp(part, "killed") == 0) stream_until_killed(*meeting);
  bool const exchanged = exchange_in_window(parents, true);
  if (!exchanged) std::fprintf(stderr, "spawned process: a value of the window is wrong\n");
  if (std::strcmp(part, "frees") == 0) meeting->end();
  MPI_Comm_disconnect(&parents);
  MPI_Finalize();  // "leaves": with all its resources allocated
  return failures == 0 && exchanged ? 0 : 1;
}
