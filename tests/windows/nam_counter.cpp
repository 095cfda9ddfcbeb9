/// One of several jobs that count in a persistent window at the same time.
///
/// nam_counter make:              makes the window, and prints its port name
/// nam_counter PORT count ROUNDS: each process increments ROUNDS times, under a lock and by MPI_Fetch_and_op
/// nam_counter PORT expect N:     whether both counts are N
/// nam_counter PORT hold:         takes the exclusive lock, then kills itself
/// nam_counter share ROUNDS:      the processes of this job count in the regions of their own window, and
/// pass large messages on
#include <mpi.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int message = 1 << 17;  ///< elements

long read_at(MPI_Win window, int rank, MPI_Aint disp) {
  long value = 0;
  MPI_Get(&value, 1, MPI_LONG, rank, disp, 1, MPI_LONG, window);
  MPI_Win_flush(rank, window);
  return value;
}

void count(MPI_Win window, int rank, long rounds) {
  long const one = 1;
  long before = 0;
  for (long i = 0; i < rounds; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    long const next = read_at(window, rank, 0) + 1;
    MPI_Put(&next, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(rank, window);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, rank, 1, MPI_SUM, window);
    MPI_Win_unlock(rank, window);
  }
}

int expect(MPI_Win window, int rank, long expected) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  long const locked = read_at(window, rank, 0);
  long const fetched = read_at(window, rank, 1);
  MPI_Win_unlock(rank, window);
  if (locked == expected && fetched == expected) return 0;
  std::fprintf(stderr, "%ld under locks and %ld fetched, expected %ld\n", locked, fetched, expected);
  return 1;
}

/// Returns the exit code.
int make() {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_mem_kind", "deep_nam_persistent");
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &base, &window);
  MPI_Info_free(&info);
  char port[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Win_get_info(window, &info);
  MPI_Info_get(info, "deep_win_port_name", MPI_MAX_INFO_VAL, port, &found);
  MPI_Info_free(&info);
  std::printf("%s\n", port);
  MPI_Win_free(&window);
  MPI_Finalize();
  return found != 0 ? 0 : 1;
}

/// Puts a message into the region of the next process, and reads that of the previous one in its own region.
int hand_on(MPI_Win window, int rank, int ranks) {
  std::vector<long> sent(message);
  std::vector<long> found(message);
  std::iota(sent.begin(), sent.end(), 1000000L * rank);
  int const next = (rank + 1) % ranks;
  MPI_Win_fence(0, window);
  MPI_Put(sent.data(), message, MPI_LONG, next, 2, message, MPI_LONG, window);
  MPI_Win_fence(0, window);
  MPI_Get(found.data(), message, MPI_LONG, rank, 2, message, MPI_LONG, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  std::iota(sent.begin(), sent.end(), 1000000L * ((rank + ranks - 1) % ranks));
  if (sent == found) return 0;
  std::fprintf(stderr, "process %d has received wrong data\n", rank);
  return 1;
}

/// Returns the exit code.
int share(long rounds) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_mem_kind", "deep_nam");
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  MPI_Win_allocate((2 + message) * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &base, &window);
  MPI_Info_free(&info);
  int wrong = hand_on(window, rank, ranks);
  for (int target = 0; target < ranks; ++target) {
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window, target, &bytes, &unit, &base);
    std::printf("process %d %s region %d\n", rank, base != nullptr ? "maps" : "does not map", target);
    count(window, target, rounds);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int target = 0; target < ranks; ++target) wrong += expect(window, target, rounds * ranks);
  MPI_Win_free(&window);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 2 && std::string(argv[1]) == "make") return make();
  if (argc == 3 && std::string(argv[1]) == "share") return share(std::atol(argv[2]));
  if (argc < 3) return 2;
  std::string const action = argv[2];
  long const number = argc > 3 ? std::atol(argv[3]) : 0;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_win_port_name", argv[1]);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &window);
  MPI_Info_free(&info);
  int code = 0;
  if (action == "count") count(window, 0, number);
  if (action == "expect") code = expect(window, 0, number);
  if (action == "hold") {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    ::raise(SIGKILL);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return code;
}
