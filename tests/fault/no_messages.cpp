/// Rank 0 cannot start UCX for the first message: calls that synchronise by messages return at all ranks, and
/// fail at the ranks that exchange signals with rank 0. Operations by message fail.
///
/// usage: mpirun -np 3 --mca osc_mpix_path message no_messages; MPIX_TEST_REFUSED: rank 0 gets no
/// "descriptors" or no "memory"
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fault/outlived.hpp"

namespace {

using namespace mpixrma::fault;

constexpr int refused_rank = 0;

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  require(::getrlimit(resource, &now) == 0, "the limit is read");
  now.rlim_cur = value;
  require(::setrlimit(resource, &now) == 0, "the limit is set");
}

rlim_t address_space() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  require(file != nullptr && std::fscanf(file, "%lu", &pages) == 1, "the size of the process is read");
  std::fclose(file);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void refuse() {
  char const* const what = std::getenv("MPIX_TEST_REFUSED");
  // Sufficient for all but UCX.
  constexpr rlim_t left = 1 << 20;
  if (what != nullptr && std::string_view(what) == "memory") return limit(RLIMIT_AS, address_space() + left);
  int const lowest_free = ::dup(0);
  ::close(lowest_free);
  limit(RLIMIT_NOFILE, static_cast<rlim_t>(lowest_free));
}

MPI_Group group_of(MPI_Comm comm, int rank) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group one = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &rank, &one);
  MPI_Group_free(&all);
  return one;
}

/// Each rank accesses the memory of its successor.
void use_groups(MPI_Win window, MPI_Group before, MPI_Group next, int rank, int size) {
  long const value = 5;
  int const posted = MPI_Win_post(before, 0, window);
  int const started = MPI_Win_start(next, 0, window);
  require(posted == MPI_SUCCESS && started == MPI_SUCCESS, "the epochs begin");
  (void)MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, window);
  int const completed = MPI_Win_complete(window);
  int const waited = MPI_Win_wait(window);
  bool const to_refused = rank == refused_rank || (rank + 1) % size == refused_rank;
  bool const from_refused = rank == refused_rank || (rank + size - 1) % size == refused_rank;
  require((class_of(completed) == MPI_ERR_OTHER) == to_refused, "complete fails if it needs rank 0");
  require((class_of(waited) == MPI_ERR_OTHER) == from_refused, "wait fails if it needs rank 0");
}

}  // namespace

int main(int argc, char** argv) {
  int const rank = begin(&argc, &argv);
  ::alarm(100);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long* memory = nullptr;
  MPI_Win windows[2];
  for (MPI_Win& window : windows) {
    MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  }
  MPI_Group const before = group_of(MPI_COMM_WORLD, (rank + size - 1) % size);
  MPI_Group const next = group_of(MPI_COMM_WORLD, (rank + 1) % size);
  for (int round = 0; round < 2; ++round) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == refused_rank) refuse();
  MPI_Barrier(MPI_COMM_WORLD);
  use_groups(windows[0], before, next, rank, size);
  for (int round = 0; round < 2; ++round)
    require(class_of(MPI_Win_fence(0, windows[1])) == MPI_ERR_OTHER, "a fence fails, each time");
  print_result("every call has returned");
  MPI_Barrier(MPI_COMM_WORLD);
  end();
}
