/// A target is killed while operations to it are in flight, for which requests of MPIX_Win_iflush and
/// MPIX_RMA_Icomplete wait: the requests complete with the error, and those for another target without one.
/// The last line of output is the result, as of window_killed.
///
/// usage: mpirun --enable-recovery -np 3 requests_killed; MPIX_TEST_MESSAGES: operations are messages
#include <mpix_rma.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fault/outlived.hpp"
#include "tests/support/communicatable.hpp"
#include "tests/support/stopped.hpp"

namespace {

using namespace mpixrma::fault;

constexpr int longs = 1 << 16;
constexpr MPI_Aint bytes = longs * sizeof(long);

/// The memory of all ranks, by both interfaces.
struct Memory {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  std::array<void*, 3> bases{};
  pid_t pids[3] = {};

  Memory() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (MPI_Comm const each : {MPI_COMM_WORLD, comm}) MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
    void* base = nullptr;
    MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comm, &base, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    require(mpixrma::test::rma_allocate(bytes, MPI_INFO_NULL, comm, bases.data()) == MPI_SUCCESS,
            "memory is allocated");
    pid_t const own = ::getpid();
    MPI_Allgather(&own, sizeof own, MPI_BYTE, pids, sizeof own, MPI_BYTE, comm);
  }
};

int transport_class() {
  int transport = 0;
  MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport);
  return transport;
}

int put_by_address(Memory& memory, std::vector<long>& values, int rank) {
  return MPIX_RMA_xfer(MPIX_RMA_PUT, values.data(), longs, MPI_LONG, rank,
                       memory.bases[static_cast<std::size_t>(rank)], longs, MPI_LONG, nullptr, &memory.comm,
                       nullptr);
}
int put_in_window(Memory const& memory, std::vector<long> const& values, int rank) {
  return MPI_Put(values.data(), longs, MPI_LONG, rank, 0, longs, MPI_LONG, memory.window);
}

/// More data than the connection buffers, and requests for their completion.
void start(Memory& memory, std::vector<long>& values, int rank, MPI_Request (&requests)[4]) {
  for (int i = 0; i < 20; ++i) {
    require(put_in_window(memory, values, rank) == MPI_SUCCESS, "puts in a window start");
    require(put_by_address(memory, values, rank) == MPI_SUCCESS, "puts by address start");
  }
  require(MPIX_Win_iflush(rank, memory.window, &requests[0]) == MPI_SUCCESS, "MPIX_Win_iflush");
  require(MPIX_Win_iflush_local(rank, memory.window, &requests[1]) == MPI_SUCCESS, "MPIX_Win_iflush_local");
  require(MPIX_RMA_Icomplete(&memory.comm, rank, &requests[2]) == MPI_SUCCESS, "MPIX_RMA_Icomplete");
  require(MPIX_RMA_Icomplete_local(&memory.comm, rank, &requests[3]) == MPI_SUCCESS,
          "MPIX_RMA_Icomplete_local");
}

void outlive_victim(Memory& memory) {
  bool const messages = std::getenv("MPIX_TEST_MESSAGES") != nullptr;
  std::vector<long> values(longs, 7);
  MPI_Request lost[4];
  MPI_Request others[4];
  MPI_Win_lock_all(0, memory.window);
  for (int const rank : {victim, other})
    require(put_in_window(memory, values, rank) == MPI_SUCCESS &&
                MPI_Win_flush(rank, memory.window) == MPI_SUCCESS,
            "a put to a living target is complete");
  mpixrma::test::stop(memory.pids[victim]);
  start(memory, values, victim, lost);
  int flag = 0;
  for (int i : {0, 2}) {
    require(MPI_Test(&lost[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a request is tested");
    require(!messages || flag == 0, "messages to a stopped process do not complete");
  }
  start(memory, values, other, others);
  require(MPI_Waitall(4, others, MPI_STATUSES_IGNORE) == MPI_SUCCESS,
          "operations on another target complete");
  ::kill(memory.pids[victim], SIGKILL);
  // A store is done when the call returns; a message never completes. The buffers are free in any case.
  require(class_of(MPI_Wait(&lost[0], MPI_STATUS_IGNORE)) == (messages ? MPI_ERR_OTHER : MPI_SUCCESS),
          "the request of MPIX_Win_iflush completes with the error");
  require(class_of(MPI_Wait(&lost[2], MPI_STATUS_IGNORE)) == (messages ? transport_class() : MPI_SUCCESS),
          "the request of MPIX_RMA_Icomplete completes with the error");
  for (int i : {1, 3})
    require(MPI_Wait(&lost[i], MPI_STATUS_IGNORE) == MPI_SUCCESS, "local requests complete");
}

/// A query has an address, but no size.
void query_lost(Memory& memory) {
  int flag = 0;
  int const code =
      mpixrma::test::rma_query(memory.comm, victim, memory.bases[victim], &flag, nullptr, nullptr);
  require(class_of(code) == transport_class(), "a query fails");
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  require(std::string_view(text).ends_with(" of rank " + std::to_string(victim) + ")"),
          "its text has the address only");
}

/// Requests that begin after the end of the target is known.
void flush_lost(Memory& memory) {
  std::vector<long> values(longs, 8);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {  // an alarm bounds it
    code = MPIX_Win_iflush(victim, memory.window, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  require(class_of(code) == MPI_ERR_OTHER, "a later MPIX_Win_iflush reports the end of the target");
  require(request == MPI_REQUEST_NULL, "it makes no request");
  require(class_of(MPIX_Win_iflush_local(victim, memory.window, &request)) == MPI_ERR_OTHER,
          "so does MPIX_Win_iflush_local");
  require(class_of(MPIX_Win_iflush_all(memory.window, &request)) == MPI_ERR_OTHER,
          "the first one of all targets reports it");
  require(MPIX_Win_iflush_all(memory.window, &request) == MPI_SUCCESS &&
              MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "later ones do not report it again");
  require(class_of(put_by_address(memory, values, victim)) == transport_class(),
          "operations fail in the call");
  require(MPIX_RMA_Icomplete(&memory.comm, MPIX_ALL_RANKS, &request) == MPI_SUCCESS &&
              MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "MPIX_RMA_Icomplete does not report them again");
}

}  // namespace

int main(int argc, char** argv) {
  int const rank = begin(&argc, &argv);
  Memory memory;
  char token = 0;
  if (rank == victim) {
    for (;;) ::pause();
  }
  if (rank == origin) {
    outlive_victim(memory);
    flush_lost(memory);
    query_lost(memory);
    MPI_Send(&token, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  }
  if (rank == other) {
    MPI_Recv(&token, 1, MPI_CHAR, origin, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(static_cast<long*>(memory.bases[other])[longs - 1] == 7, "the puts to this process have arrived");
    print_result("the requests outlived their target");
  }
  end();
}
