/// A target of three windows is killed: flush, unlock, unlock_all, complete and wait report it, and
/// operations on the other targets continue. The memory of two windows is from MPI_Win_allocate, where
/// operations are loads and stores, which succeed. The last line of output is the result, because the exit
/// status of mpirun is arbitrary when a rank is killed.
///
/// usage: mpirun --enable-recovery -np 3 window_killed; MPIX_TEST_UNCHECKED: the locks have MPI_MODE_NOCHECK
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fault/outlived.hpp"

namespace {

using namespace mpixrma::fault;

void put_until_lost(MPI_Win window) {
  long const value = 1;
  int code = MPI_SUCCESS;
  for (int i = 0; code == MPI_SUCCESS; ++i) {  // an alarm bounds it
    code = MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(victim, window);
  }
  require(class_of(code) == MPI_ERR_OTHER, "the operation, or its flush, reports the end of the target");
  code = MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(victim, window);
  require(class_of(code) == MPI_ERR_OTHER, "later operations fail, too");
  // The kernel may have refused the operations before the end of the process was detected.
  do code = MPI_Win_flush_local(victim, window);
  while (code == MPI_SUCCESS);
  require(class_of(code) == MPI_ERR_OTHER, "a local flush fails");
  require(class_of(MPI_Win_flush_all(window)) == MPI_ERR_OTHER, "the flush of all targets fails");
  require(MPI_Win_flush_all(window) == MPI_SUCCESS, "later flushes of all targets do not report it again");
}

/// Whether the text of the error names the call and the rank.
bool is_explained(int code, char const* call) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::strstr(text, call) != nullptr && std::strstr(text, "rank 1") != nullptr;
}

/// Without requests for the lock, and without flushes.
void unlock_until_lost(MPI_Win window) {
  long const value = 1;
  int code = MPI_SUCCESS;
  for (;;) {  // an alarm bounds it
    (void)MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
    code = MPI_Win_unlock(victim, window);
    if (code != MPI_SUCCESS) break;
    MPI_Win_lock(MPI_LOCK_SHARED, victim, MPI_MODE_NOCHECK, window);
  }
  require(class_of(code) == MPI_ERR_OTHER, "unlock reports the end of the target");
  require(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, victim, MPI_MODE_NOCHECK, window) == MPI_SUCCESS,
          "a lock without check does not need the target");
  require(is_explained(MPI_Win_unlock(victim, window), "MPI_Win_unlock"), "its unlock names the lost rank");
}

/// Epochs whose only process is killed meanwhile end with an error.
void outlive_epochs_of_victim(MPI_Win window) {
  int const rank = victim;
  long const value = 1;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group dying = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &rank, &dying);
  for (int puts = 0; puts < 2; ++puts) {
    require(MPI_Win_start(dying, 0, window) == MPI_SUCCESS, "MPI_Win_start does not wait");
    if (puts != 0) MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
    int const code = MPI_Win_complete(window);
    require(class_of(code) == MPI_ERR_OTHER, "MPI_Win_complete reports the end of the target");
    require(is_explained(code, "MPI_Win_complete"), "MPI_Win_complete names the lost rank");
  }
  require(MPI_Win_post(dying, 0, window) == MPI_SUCCESS, "MPI_Win_post does not wait");
  int const code = MPI_Win_wait(window);
  require(class_of(code) == MPI_ERR_OTHER, "MPI_Win_wait reports the end of the origin");
  require(is_explained(code, "MPI_Win_wait"), "MPI_Win_wait names the lost rank");
  require(MPI_Win_post(dying, 0, window) == MPI_SUCCESS, "the epoch is over");
  int flag = 0;
  require(class_of(MPI_Win_test(window, &flag)) == MPI_ERR_OTHER, "MPI_Win_test reports it, too");
  MPI_Group_free(&dying);
  MPI_Group_free(&all);
}

/// Puts 7 into the memory of the two targets, one of which is killed then.
void outlive_victim(MPI_Win const (&windows)[2], MPI_Win active) {
  bool const unchecked = std::getenv("MPIX_TEST_UNCHECKED") != nullptr;
  char token = 0;
  long const value = 7;
  for (MPI_Win const window : windows) {
    MPI_Win_lock(MPI_LOCK_SHARED, victim, unchecked ? MPI_MODE_NOCHECK : 0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window);
    MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
    require(MPI_Win_flush(victim, window) == MPI_SUCCESS, "a put to a living target is complete");
  }
  MPI_Send(&token, 1, MPI_CHAR, victim, 0, MPI_COMM_WORLD);
  outlive_epochs_of_victim(active);
  for (MPI_Win const window : windows) {
    if (unchecked) {
      unlock_until_lost(window);
    } else {
      put_until_lost(window);
      require(is_explained(MPI_Win_unlock(victim, window), "MPI_Win_unlock"), "unlock names the lost rank");
    }
    MPI_Put(&value, 1, MPI_LONG, other, 0, 1, MPI_LONG, window);
    require(MPI_Win_unlock(other, window) == MPI_SUCCESS, "operations on another target continue");
    require(is_explained(MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, window), "MPI_Win_lock"),
            "lock names the lost rank");
    require(MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS, "locks without checks need no target");
    (void)MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
    require(is_explained(MPI_Win_unlock_all(window), "MPI_Win_unlock_all"), "unlock_all names the lost rank");
  }
  MPI_Send(&token, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  int const rank = begin(&argc, &argv);
  long* memory[2] = {static_cast<long*>(std::calloc(8, sizeof(long))), nullptr};
  MPI_Win windows[2];
  MPI_Win_create(memory[0], 8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0]);
  MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[1], &windows[1]);
  long* exposed = nullptr;
  MPI_Win active = MPI_WIN_NULL;
  MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &active);
  for (MPI_Win const window : {windows[0], windows[1], active})
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  char token = 0;
  if (rank == victim) {
    MPI_Recv(&token, 1, MPI_CHAR, origin, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ::kill(::getpid(), SIGKILL);
  }
  if (rank == origin) outlive_victim(windows, active);
  if (rank == other) {
    MPI_Recv(&token, 1, MPI_CHAR, origin, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(memory[0][0] == 7 && memory[1][0] == 7, "the puts to this process have arrived");
    print_result("the window outlived its target");
  }
  end();
}
