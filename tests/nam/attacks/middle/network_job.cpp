/// A job on another host than its memory server: each rank puts records into a window, and counts there,
/// until it has completed ROUNDS rounds or a call fails.
///
/// nam_network_job PORT LEDGER ROUNDS
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/nam/attacks/middle/record.hpp"

namespace {

using namespace mpixrma::nam;

int rank = 0;
int ledger = -1;

/// Ends the job if the call has failed.
void expect_success(int code, char const* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, call, text);
  MPI_Abort(MPI_COMM_WORLD, job_failed);
}

void note(std::size_t column, std::uint64_t round) {
  off_t const at = static_cast<off_t>(column + static_cast<std::size_t>(rank) * sizeof round);
  if (::pwrite(ledger, &round, sizeof round, at) != static_cast<ssize_t>(sizeof round))
    MPI_Abort(MPI_COMM_WORLD, 1);
}

MPI_Win attach(char const* port) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_win_port_name", port);
  MPI_Win window = MPI_WIN_NULL;
  expect_success(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &window), "attach");
  MPI_Info_free(&info);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  return window;
}

/// Checks the rank's record of the previous round, and puts the record of this round.
void put_record(MPI_Win window, std::uint64_t round) {
  MPI_Aint const place = rank * static_cast<MPI_Aint>(record_bytes);
  std::vector<std::uint64_t> words(record_words);
  expect_success(
      MPI_Get(words.data(), record_words, MPI_UINT64_T, 0, place, record_words, MPI_UINT64_T, window), "get");
  expect_success(MPI_Win_flush(0, window), "flush of the get");
  std::uint64_t const expected = stamp_of(rank, round - 1);
  if (std::any_of(words.begin(), words.end(), [=](std::uint64_t word) { return word != expected; })) {
    std::fprintf(stderr, "rank %d, round %lu: another record than expected\n", rank,
                 static_cast<unsigned long>(round));
    MPI_Abort(MPI_COMM_WORLD, job_found_wrong);
  }
  std::fill(words.begin(), words.end(), stamp_of(rank, round));
  expect_success(
      MPI_Put(words.data(), record_words, MPI_UINT64_T, 0, place, record_words, MPI_UINT64_T, window), "put");
  expect_success(MPI_Win_flush(0, window), "flush of the put");
  note(offsetof(Ledger, put), round);
}

void count(MPI_Win window, std::uint64_t round) {
  std::uint64_t const one = 1;
  std::uint64_t before = 0;
  MPI_Aint const place = record_ranks * static_cast<MPI_Aint>(record_bytes);
  expect_success(MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 0, place, MPI_SUM, window), "fetch-and-add");
  expect_success(MPI_Win_flush(0, window), "flush of the fetch-and-add");
  note(offsetof(Ledger, counted), round);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) return 2;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ledger = ::open(argv[2], O_WRONLY);
  MPI_Win window = attach(argv[1]);
  auto const rounds = std::strtoul(argv[3], nullptr, 10);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    expect_success(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window), "lock");
    put_record(window, round);
    count(window, round);
    expect_success(MPI_Win_unlock(0, window), "unlock");
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
