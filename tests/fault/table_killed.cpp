/// The process is killed whose memory holds the table of ranks for all processes of the host: the others
/// reach ranks that they have not used before, and fences end. The last line of output is the result, as of
/// window_killed.
///
/// usage: mpirun --enable-recovery -np 16 table_killed
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "tests/fault/outlived.hpp"

namespace {

using namespace mpixrma::fault;

constexpr int keeper = 0;  // the first rank of the host

void flush_until_lost(MPI_Win window) {
  long const value = 1;
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {  // an alarm bounds it
    code = MPI_Put(&value, 1, MPI_LONG, keeper, 0, 1, MPI_LONG, window);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(keeper, window);
  }
  require(class_of(code) == MPI_ERR_OTHER, "the flush reports the end of the keeper");
}

void outlive_keeper(MPI_Win window, int rank, int ranks) {
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  flush_until_lost(window);
  int const next = rank % (ranks - 1) + 1;
  long const value = 100 + rank;
  require(MPI_Put(&value, 1, MPI_LONG, next, next, 1, MPI_LONG, window) == MPI_SUCCESS &&
              MPI_Win_flush(next, window) == MPI_SUCCESS,
          "a rank that was not used before is reached");
  (void)MPI_Win_unlock_all(window);  // reports the end of the keeper
}

}  // namespace

int main(int argc, char** argv) {
  int const rank = begin(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // Sizes that differ, so that the table has entries.
  long* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(long)) * (1 + rank), sizeof(long), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &memory, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == keeper) ::kill(::getpid(), SIGKILL);
  outlive_keeper(window, rank, ranks);
  (void)MPI_Win_fence(0, window);  // an alarm bounds it
  int const previous = rank == 1 ? ranks - 1 : rank - 1;
  int const next = rank % (ranks - 1) + 1;
  char token = 0;
  MPI_Sendrecv(&token, 1, MPI_CHAR, next, 0, &token, 1, MPI_CHAR, previous, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  require(memory[rank] == 100 + previous, "the put of the previous rank has arrived");
  if (rank != ranks - 1) {
    MPI_Send(&token, 1, MPI_CHAR, ranks - 1, 1, MPI_COMM_WORLD);
    end();
  }
  for (int sender = 1; sender < ranks - 1; ++sender)
    MPI_Recv(&token, 1, MPI_CHAR, sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  print_result("the table outlived its keeper");
  end();
}
