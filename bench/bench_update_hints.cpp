/// Accumulates on MPI windows with and without the info keys for accumulates, in one run. Each measurement
/// has windows of its own, because the method by which elements are updated stays with the memory.
///
/// usage: bench_update_hints    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr MPI_Aint bytes = 1 << 20;
constexpr int target = 1;

struct Key {
  char const* name;
  char const* value;
};
constexpr Key no_key{nullptr, nullptr};

/// A window on fresh memory, locked by MPI_Win_lock_all until the end of the program.
class Window {
 public:
  explicit Window(Key const& key) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    if (key.name != nullptr) MPI_Info_set(info, key.name, key.value);
    long* mine = nullptr;
    MPI_Win_allocate(bytes, 8, info, MPI_COMM_WORLD, &mine, &handle_);
    MPI_Info_free(&info);
    std::fill(mine, mine + bytes / 8, 0L);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, handle_);
    all().push_back(handle_);
  }
  operator MPI_Win() const { return handle_; }

  static void free_all() {
    for (MPI_Win& window : all()) {
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    }
  }

 private:
  static std::vector<MPI_Win>& all() {
    static std::vector<MPI_Win> windows;
    return windows;
  }
  MPI_Win handle_ = MPI_WIN_NULL;
};

bench::Case line(char const* operation, Key const& key, std::size_t size) {
  std::string const how = key.name != nullptr ? std::string(key.name) + '=' + key.value : "default";
  return {"hints", bench::label_or("mpix"), operation, how, 1, size};
}

long raise(MPI_Win window, MPI_Aint at) {
  long const one = 1;
  long before = 0;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, target, at, MPI_SUM, window);
  MPI_Win_flush(target, window);
  return before;
}

/// Two origins add a few integers each to the same elements.
void measure_few(Key const& key) {
  Window const window(key);
  constexpr int count = 4;
  long const ones[count] = {1, 1, 1, 1};
  long calls = 0;
  bench::Case const what = line("contended_accumulate_long", key, sizeof ones);
  bench::measure_together(what, 20000, [&] {
    MPI_Accumulate(ones, count, MPI_LONG, target, 0, count, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush(target, window);
    ++calls;
  });
  MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (bench::rank() == 0) bench::require(raise(window, count - 1) == calls, what);
}

/// Accumulates to arrays of integers that begin with a counter, and fetch-and-adds on the counter.
void measure_array(Key const& key) {
  Window const window(key);
  std::vector<long> const ones(128, 1);
  auto const count = static_cast<int>(ones.size());
  if (bench::rank() == 0) raise(window, 0);
  bench::measure(line("accumulate_long_and_count", key, 8 * ones.size()), [&] {
    MPI_Accumulate(ones.data(), count, MPI_LONG, target, 0, count, MPI_LONG, MPI_SUM, window);
    raise(window, 0);
  });
}

/// The first update of each KiB.
void measure_first(Key const& key) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    Window const window(key);
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    for (MPI_Aint at = 0; bench::rank() == 0 && at < bytes / 8; at += 128) raise(window, at);
    times.push_back((MPI_Wtime() - start) / (bytes / 1024) * 1e6);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::sort(times.begin(), times.end());
  if (bench::rank() == 0) bench::print(line("first_fetch_and_op", key, 8), times[4]);
}

void measure_single(Key const& key) {
  Window const window(key);
  raise(window, 8);
  bench::measure(line("fetch_and_op", key, 8), [&] { raise(window, 8); });
  for (MPI_Op const op : {MPI_SUM, MPI_REPLACE}) {
    double const value = 1;
    char const* const name = op == MPI_SUM ? "accumulate_double" : "replace_double";
    bench::measure(line(name, key, 8), [&] {
      MPI_Accumulate(&value, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, op, window);
      MPI_Win_flush(target, window);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes()) return bench::refuse("bench_update_hints");
  for (Key const& key : {no_key, Key{"mpi_accumulate_granularity", "8"}}) measure_few(key);
  for (Key const& key : {no_key, Key{"mpi_accumulate_granularity", "4096"}}) measure_array(key);
  for (Key const& key : {no_key, Key{"acc_single_intrinsic", "true"}}) measure_first(key);
  for (Key const& key : {no_key, Key{"acc_single_intrinsic", "true"}, Key{"accumulate_ops", "same_op"}})
    measure_single(key);
  Window::free_all();
  MPI_Finalize();
  return 0;
}
