/// Put and get of blocks from buffers as programs have them: from malloc, and at several offsets in a page,
/// to an allocated window. With `methods`, on this library's component: by each method of copies and by the
/// measured choice, and the same copies by plain memcpy, in turn, so that a change of the machine's speed
/// affects all of them. Times are CPU times of the origin's thread: other processes on its core do not count.
///
/// usage: bench_copies [methods]    (2 ranks)
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"
#include "engine/op/kernel/copy_methods.hpp"
#include "engine/tuning/copy_cache.hpp"
#include "engine/tuning/host_fingerprint.hpp"

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most = 16u << 20;
constexpr int target = 1;

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

/// A buffer of the origin.
class Buffer {
 public:
  /// `offset` in a page; -1: where malloc returns it.
  Buffer(int offset, std::size_t bytes)
      : memory_(offset < 0 ? std::malloc(bytes) : std::aligned_alloc(page, bytes + 2 * page)),
        begin_(static_cast<char*>(memory_.get()) + std::max(offset, 0)) {
    if (memory_ == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
    for (std::size_t i = 0; i < bytes; ++i) begin_[i] = static_cast<char>(i * 7 + i / 4096);
  }
  char* get() const noexcept { return begin_; }

 private:
  std::unique_ptr<void, Free> memory_;
  char* begin_;
};

class Copies {
 public:
  Copies() = default;
  virtual ~Copies() = default;
  Copies(Copies const&) = delete;
  Copies& operator=(Copies const&) = delete;
  virtual void put(char const* from, int bytes) const = 0;
  virtual void get(char* to, int bytes) const = 0;
};

/// Window operations with a flush.
class WindowCopies : public Copies {
 public:
  WindowCopies() {
    char* mine = nullptr;
    MPI_Win_allocate(most, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window_);
    MPI_Win_lock_all(0, window_);
  }
  ~WindowCopies() override {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  void put(char const* from, int bytes) const override {
    MPI_Put(from, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window_);
    MPI_Win_flush(target, window_);
  }
  void get(char* to, int bytes) const override {
    MPI_Get(to, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window_);
    MPI_Win_flush(target, window_);
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

/// memcpy to and from the memory of the other process.
class PlainCopies : public Copies {
 public:
  PlainCopies() {
    char* mine = nullptr;
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_allocate_shared(most + page, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window_);
    MPI_Win_shared_query(window_, target, &size, &unit, &memory_);
    memory_ += -reinterpret_cast<std::uintptr_t>(memory_) % page;
  }
  ~PlainCopies() override { MPI_Win_free(&window_); }

  void put(char const* from, int bytes) const override {
    std::memcpy(memory_, from, static_cast<std::size_t>(bytes));
  }
  void get(char* to, int bytes) const override { std::memcpy(to, memory_, static_cast<std::size_t>(bytes)); }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  char* memory_ = nullptr;
};

struct Alternative {
  std::string label;
  Copies const* copies;
  std::function<void()> choose;  ///< makes the library's copies follow this alternative
};

double thread_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// Returns the median time of one call for each alternative, in microseconds.
template <typename Call>
std::vector<double> times_in_turn(std::vector<Alternative> const& alternatives, Call call) {
  constexpr std::size_t rounds = 15;
  constexpr double batch_us = 300;
  std::vector<std::vector<double>> times(alternatives.size());
  std::vector<std::size_t> calls(alternatives.size(), 1);
  for (std::size_t round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      alternatives[i].choose();
      call(*alternatives[i].copies);
      double const begin = thread_us();
      for (std::size_t n = 0; n < calls[i]; ++n) call(*alternatives[i].copies);
      double const time = (thread_us() - begin) / static_cast<double>(calls[i]);
      if (round == 0)
        calls[i] = std::max<std::size_t>(1, static_cast<std::size_t>(batch_us / std::max(time, 0.01)));
      else
        times[i].push_back(time);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& each : times) {
    std::sort(each.begin(), each.end());
    medians.push_back(each[rounds / 2]);
  }
  return medians;
}

/// Measures at the origin while the target waits, and prints a line for each alternative.
template <typename Call>
void measure(std::vector<Alternative> const& alternatives, bench::Case what, Call call) {
  if (!bench::is_wanted(what)) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (bench::rank() == 0) {
    std::vector<double> const times = times_in_turn(alternatives, call);
    for (std::size_t i = 0; i < times.size(); ++i) {
      what.implementation = alternatives[i].label;
      bench::print(what, times[i]);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Writes the pattern by each alternative and reads it back.
void check(std::vector<Alternative> const& alternatives, Buffer const& buffer, std::size_t size) {
  std::vector<char> const expected(buffer.get(), buffer.get() + size);
  auto const bytes = static_cast<int>(size);
  for (Alternative const& each : alternatives) {
    each.choose();
    each.copies->put(buffer.get(), bytes);
    std::memset(buffer.get(), 0, size);
    each.copies->get(buffer.get(), bytes);
    bench::require(std::memcmp(buffer.get(), expected.data(), size) == 0,
                   {"copies", each.label, "get", "block", 1, size});
  }
}

void measure_buffers(std::vector<Alternative> const& alternatives) {
  for (int const offset : {-1, 0, 16, 64, 1040, 4080}) {
    std::string const name = offset < 0 ? "malloc" : "offset" + std::to_string(offset);
    for (std::size_t const size : {4096u, 16384u, 65536u, 262144u, 1u << 20, 2u << 20, 16u << 20}) {
      Buffer const buffer(offset, size);
      auto const bytes = static_cast<int>(size);
      if (bench::rank() == 0) check(alternatives, buffer, size);
      measure(alternatives, {"copies", "", "put", name, 1, size},
              [&](Copies const& copies) { copies.put(buffer.get(), bytes); });
      measure(alternatives, {"copies", "", "get", name, 1, size},
              [&](Copies const& copies) { copies.get(buffer.get(), bytes); });
    }
  }
}

/// Measures each copy method of this library, the measured choice, and memcpy.
void measure_methods() {
  using mpixrma::engine::CopyMethod;
  using mpixrma::engine::CopyTable;
  WindowCopies const window;
  PlainCopies const plain;
  CopyTable const measured =
      mpixrma::engine::CopyCache(mpixrma::engine::cache_directory(), mpixrma::engine::host_fingerprint())
          .read()
          .value_or(CopyTable{});
  auto const use = [](CopyTable const& table) {
    return [table] { mpixrma::engine::use_copy_methods(table); };
  };
  std::vector<Alternative> alternatives{{"mpix", &window, use(measured)}};
  for (CopyMethod const method : {CopyMethod::library, CopyMethod::vector, CopyMethod::string}) {
    if (!mpixrma::engine::is_available(method)) continue;
    CopyTable table;
    for (auto& of_size : table.methods) of_size.fill(method);
    alternatives.push_back({name_of(method), &window, use(table)});
  }
  alternatives.push_back({"memcpy", &plain, [] {}});
  measure_buffers(alternatives);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes()) return bench::refuse("bench_copies [methods]");
  if (bench::has_argument(argc, argv, "methods")) {
    measure_methods();
  } else {
    WindowCopies const window;
    measure_buffers({{bench::label_or("osc"), &window, [] {}}});
  }
  MPI_Finalize();
  return 0;
}
