/// Throughput of one, two and four threads of a process, on the same target and on different ones: time per
/// operation over all threads. The targets sleep.
///
/// usage: bench_threads [NAME]    (5 ranks: rank 0 is the origin; with NAME only puts to plain memory
/// of different targets, printed with NAME as the memory)
#include <mpi.h>
#include <mpix_rma.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr int max_threads = 4;
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

/// Returns the time per operation while `threads` threads call `operation(thread)` repeatedly.
template <typename Operation>
double time_of(int threads, Operation operation) {
  constexpr double seconds = 0.15;
  std::vector<double> times;
  for (int repetition = 0; repetition < 5; ++repetition) {
    std::atomic<bool> go{false};
    std::atomic<bool> stop{false};
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(threads) * 16, 0);  // a cache line per thread
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
  if (size != 1 + max_threads || provided != MPI_THREAD_MULTIPLE) {
    if (bench::rank() == 0)
      std::fprintf(stderr, "usage: mpirun -np %d bench_threads, with MPI_THREAD_MULTIPLE\n", 1 + max_threads);
    MPI_Finalize();
    return 2;
  }
  constexpr MPI_Aint bytes = 1 << 16;
  void* bases[1 + max_threads];
  MPIX_RMA_Allocate(bytes, MPI_INFO_NULL, world, nullptr, bases);
  std::vector<char> heap(bytes);
  std::vector<char*> heaps(1 + max_threads);
  char* const mine = heap.data();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, heaps.data(), sizeof mine, MPI_BYTE, world);
  auto const measure = [&](bool plain, bool different, std::string const& memory) {
    auto const put = [&](int thread) {
      int const target = different ? 1 + thread : 1;
      double value = 1;
      char* const base = plain ? heaps[static_cast<std::size_t>(target)] : static_cast<char*>(bases[target]);
      MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_DOUBLE, target, base + 4096 * thread, 1, MPI_DOUBLE, nullptr,
                    &world, nullptr);
      MPIX_RMA_Complete(&world, target);
    };
    for (int threads = 1; threads <= max_threads; threads *= 2) {
      bench::Case const what{"threads",
                             "mpix",
                             different ? "put_other_target" : "put_same_target",
                             memory,
                             static_cast<std::size_t>(threads),
                             8};
      bench::print(what, time_of(threads, put));
    }
  };
  if (bench::rank() == 0) {
    if (argc > 1) {
      measure(true, true, argv[1]);
    } else {
      for (bool const plain : {false, true}) {
        for (bool const different : {false, true}) measure(plain, different, plain ? "heap" : "allocated");
      }
    }
  }
  sleep_until_done();
  MPIX_RMA_Free(bases[bench::rank()], world);
  MPI_Finalize();
  return 0;
}
