/// Throughput of one and of two threads of a process, on the same target and on different ones: time per
/// operation of all threads together. The target sleeps.
///
/// usage: bench_threads    (3 ranks: rank 0 is the origin)
#include <mpi.h>
#include <mpix_rma.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;

/// Waits without taking the processor from the origin.
void sleep_until_done() {
  MPI_Request done = MPI_REQUEST_NULL;
  MPI_Ibarrier(world, &done);
  for (int flag = 0; flag == 0;) {
    MPI_Test(&done, &flag, MPI_STATUS_IGNORE);
    if (flag == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// Time per operation when `threads` threads do `operation(thread)` for a while.
template <typename Operation>
double time_of(int threads, Operation operation) {
  constexpr double seconds = 0.15;
  std::vector<double> times;
  for (int repetition = 0; repetition < 5; ++repetition) {
    std::atomic<bool> go{false};
    std::atomic<bool> stop{false};
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(threads) * 16, 0);  // a cache line each
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        while (!go.load(std::memory_order_acquire)) {
        }
        std::uint64_t count = 0;
        while (!stop.load(std::memory_order_relaxed)) {
          for (int i = 0; i < 16; ++i) operation(thread);
          count += 16;
        }
        counts[static_cast<std::size_t>(thread) * 16] = count;
      });
    }
    double const start = MPI_Wtime();
    go.store(true, std::memory_order_release);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop.store(true);
    for (auto& thread : running) thread.join();
    double const elapsed = MPI_Wtime() - start;
    std::uint64_t total = 0;
    for (std::uint64_t const count : counts) total += count;
    times.push_back(elapsed / static_cast<double>(total) * 1e6);
  }
  std::nth_element(times.begin(), times.begin() + 2, times.end());
  return times[2];
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int size = 0;
  MPI_Comm_size(world, &size);
  if (size != 3 || provided != MPI_THREAD_MULTIPLE) {
    if (bench::rank() == 0)
      std::fprintf(stderr, "usage: mpirun -np 3 bench_threads, with MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 2;
  }
  constexpr MPI_Aint bytes = 1 << 16;
  void* bases[3];
  MPIX_RMA_Allocate(bytes, MPI_INFO_NULL, &world, bases);
  std::vector<char> heap(bytes);
  std::vector<char*> heaps(3);
  char* const mine = heap.data();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, heaps.data(), sizeof mine, MPI_BYTE, world);
  if (bench::rank() == 0) {
    for (int plain = 0; plain < 2; ++plain) {
      for (int different = 0; different < 2; ++different) {
        auto const put = [&](int thread) {
          int const target = 1 + thread * different;
          double value = 1;
          char* const base =
              plain != 0 ? heaps[static_cast<std::size_t>(target)] : static_cast<char*>(bases[target]);
          MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_DOUBLE, target, base + 4096 * thread, 1, MPI_DOUBLE,
                        nullptr, &world, nullptr);
          MPIX_RMA_Complete(&world, target);
        };
        for (int threads = 1; threads <= 2; ++threads) {
          std::string const name = std::string(different != 0 ? "put_other_target" : "put_same_target");
          bench::Case const what{
              "threads", "mpix", name, plain != 0 ? "heap" : "allocated", static_cast<std::size_t>(threads),
              8};
          bench::print(what, time_of(threads, put));
        }
      }
    }
  }
  sleep_until_done();
  MPIX_RMA_Free(bases[bench::rank()], &world);
  MPI_Finalize();
  return 0;
}
