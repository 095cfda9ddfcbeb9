/// MPI windows through MPI's interface alone, so that the same program measures every component: operations
/// with flush on three kinds of windows, synchronisation, creation, contended locks, and a computing target.
/// With `nam`: windows at a memory server beside allocated ones, or, on one rank, regions striped over
/// several servers beside regions at one server.
///
/// usage: bench_windows [nam] [contended] [--quick|--for-comparison] [--no-compare-swap] [--only-allocated]
/// (2 ranks; contended: 4)
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr MPI_Aint bytes = 4 << 20;
constexpr int target = 1;

struct Options {
  bool quick = false;
  bool for_comparison = false;  ///< of two builds: skip measurements that take seconds
  bool contended = false;
  bool nam = false;
  bool only_allocated = false;
  bool compare_swap = true;  ///< off for Open MPI 4.1.4's osc/rdma, which crashes
};

/// Returns the info object for MPI_Win_allocate.
MPI_Info info_for(std::string const& kind) {
  if (kind == "allocated") return MPI_INFO_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_mem_kind", kind == "persistent" ? "deep_nam_persistent" : "deep_nam");
  if (kind == "striped") MPI_Info_set(info, "mpix_nam_stripe", "65536");
  return info;
}

MPI_Win allocate(MPI_Aint size, std::string const& kind) {
  MPI_Info info = info_for(kind);
  char* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(size, 1, info, MPI_COMM_WORLD, &mine, &window);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return window;
}

/// A window of rank 1's memory, and the base of displacements.
struct Memory {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Aint base = bench::target_offset;
  char const* name = "";
  std::vector<char> heap;

  explicit Memory(char const* kind) : name(kind) {
    std::string const which = kind;
    if (which == "allocated" || which == "nam") {
      window = allocate(bench::target_offset + bytes, which);
      return;
    }
    heap.resize(bench::target_offset + bytes);
    if (which == "created") {
      MPI_Win_create(heap.data(), bench::target_offset + bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      return;
    }
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_attach(window, heap.data(), bench::target_offset + bytes);
    MPI_Get_address(heap.data() + bench::target_offset, &base);
    MPI_Bcast(&base, 1, MPI_AINT, target, MPI_COMM_WORLD);
  }
  ~Memory() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (std::string(name) == "dynamic") MPI_Win_detach(window, heap.data());
    MPI_Win_free(&window);
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
};

bench::Case line(char const* operation, char const* memory, std::size_t segments = 1, std::size_t size = 8) {
  return {"window", bench::label_or("window"), operation, memory, segments, size};
}

/// Measures put, get and accumulates of blocks, each with its flush; accumulate_computed includes writing the
/// origin's data.
void measure_blocks(Memory const& memory) {
  std::vector<double> const origin(bytes / 8, 1.0);
  std::vector<double> result(bytes / 8);
  auto const flushed = [&](char const* operation, std::size_t size, auto const& call) {
    bench::measure(line(operation, memory.name, 1, size), [&] {
      call(static_cast<int>(size / 8));
      MPI_Win_flush(target, memory.window);
    });
  };
  for (std::size_t const size : {8u, 65536u, 2u << 20}) {
    flushed("put", size, [&](int n) {
      MPI_Put(origin.data(), n, MPI_DOUBLE, target, memory.base, n, MPI_DOUBLE, memory.window);
    });
    flushed("get", size, [&](int n) {
      MPI_Get(result.data(), n, MPI_DOUBLE, target, memory.base, n, MPI_DOUBLE, memory.window);
    });
  }
  for (std::size_t const size : {8u, 262144u, 2u << 20}) {
    flushed("accumulate", size, [&](int n) {
      MPI_Accumulate(origin.data(), n, MPI_DOUBLE, target, memory.base, n, MPI_DOUBLE, MPI_SUM,
                     memory.window);
    });
  }
  // Programs compute their data before they accumulate it: the target's cache has no copy of it then.
  std::vector<double> computed(bytes / 8, 1.0);
  for (std::size_t const size : {262144u, 2u << 20}) {
    flushed("accumulate_computed", size, [&](int n) {
      double const value = computed[0] + 1.0;
      std::fill_n(computed.begin(), n, value);
      MPI_Accumulate(computed.data(), n, MPI_DOUBLE, target, memory.base, n, MPI_DOUBLE, MPI_SUM,
                     memory.window);
    });
  }
  flushed("accumulate_long", 8192, [&](int n) {
    MPI_Accumulate(origin.data(), n, MPI_LONG, target, memory.base, n, MPI_LONG, MPI_SUM, memory.window);
  });
  flushed("get_accumulate", 8192, [&](int n) {
    MPI_Get_accumulate(origin.data(), n, MPI_DOUBLE, result.data(), n, MPI_DOUBLE, target, memory.base, n,
                       MPI_DOUBLE, MPI_SUM, memory.window);
  });
}

/// Measures 1024 pieces of 16 bytes on the target's side.
void measure_strided(Memory const& memory) {
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_vector(1024, 2, 8, MPI_DOUBLE, &rows);
  MPI_Type_commit(&rows);
  std::vector<double> origin(2048, 2.5);
  bench::measure(line("put", memory.name, 1024, 16), [&] {
    MPI_Put(origin.data(), 2048, MPI_DOUBLE, target, memory.base, 1, rows, memory.window);
    MPI_Win_flush(target, memory.window);
  });
  if (std::string(memory.name) == "allocated") {
    // The same copies within this process, which no put can be faster than.
    std::vector<double> rows_here(std::size_t{1024} * 8);
    bench::measure(line("put_loop", memory.name, 1024, 16), [&] {
      for (std::size_t row = 0; row < 1024; ++row) std::memcpy(&rows_here[row * 8], &origin[row * 2], 16);
      asm volatile("" ::: "memory");
    });
  }
  std::vector<double> back(2048);
  bench::measure(line("get", memory.name, 1024, 16), [&] {
    MPI_Get(back.data(), 2048, MPI_DOUBLE, target, memory.base, 1, rows, memory.window);
    MPI_Win_flush(target, memory.window);
  });
  if (bench::rank() == 0 && bench::is_wanted(line("put", memory.name, 1024, 16)) &&
      bench::is_wanted(line("get", memory.name, 1024, 16)))
    bench::require(back == origin, line("get", memory.name, 1024, 16));
  MPI_Type_free(&rows);
}

/// Measures operations on one element and checks the sum of the additions.
void measure_elements(Memory const& memory, Options const& options) {
  long const zero = 0;
  long const one = 1;
  long result = 0;
  long calls = 0;
  if (bench::rank() == 0) {
    MPI_Put(&zero, 1, MPI_LONG, target, memory.base, 1, MPI_LONG, memory.window);
    MPI_Win_flush(target, memory.window);
  }
  bench::measure(line("fetch_and_op", memory.name), [&] {
    MPI_Fetch_and_op(&one, &result, MPI_LONG, target, memory.base, MPI_SUM, memory.window);
    MPI_Win_flush(target, memory.window);
    ++calls;
  });
  if (bench::rank() == 0 && calls != 0)
    bench::require(result == calls - 1, line("fetch_and_op", memory.name));
  if (!options.compare_swap) return;
  bench::measure(line("compare_swap", memory.name), [&] {
    MPI_Compare_and_swap(&one, &one, &result, MPI_LONG, target, memory.base, memory.window);
    MPI_Win_flush(target, memory.window);
  });
}

void measure_locks(Memory const& memory) {
  double const value = 1;
  bench::measure(line("lock_unlock", memory.name), [&] {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, memory.window);
    MPI_Win_unlock(target, memory.window);
  });
  bench::measure(line("lock_put_unlock", memory.name), [&] {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, memory.window);
    MPI_Put(&value, 1, MPI_DOUBLE, target, memory.base, 1, MPI_DOUBLE, memory.window);
    MPI_Win_unlock(target, memory.window);
  });
}

void measure_creation(char const* kind) {
  bench::measure_together(line("create_free", kind, 1, 4096), 20, [kind] {
    MPI_Win window = allocate(4096, kind);
    MPI_Win_free(&window);
  });
}

/// Measures the connection of all ranks to a persistent window at a memory server.
void measure_connection() {
  MPI_Win window = allocate(4096, "persistent");
  MPI_Info info = MPI_INFO_NULL;
  MPI_Win_get_info(window, &info);
  MPI_Info_delete(info, "deep_mem_kind");
  MPI_Win_free(&window);
  bench::measure_together(line("connect", "nam", 1, 4096), 5, [info, &window] {
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
  });
  MPI_Info_free(&info);
}

void measure_active(Options const& options) {
  Memory const memory("allocated");
  bench::measure_together(line("fence", "allocated"), 500, [&] { MPI_Win_fence(0, memory.window); });
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Win_get_group(memory.window, &all);
  int const other = 1 - bench::rank();
  MPI_Group peer = MPI_GROUP_NULL;
  MPI_Group_incl(all, 1, &other, &peer);
  double const value = 1;
  bench::measure_together(line("post_start", "allocated"), 500, [&] {
    MPI_Win_post(peer, 0, memory.window);
    MPI_Win_start(peer, 0, memory.window);
    MPI_Put(&value, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, memory.window);
    MPI_Win_complete(memory.window);
    MPI_Win_wait(memory.window);
  });
  MPI_Group_free(&peer);
  MPI_Group_free(&all);
  measure_creation("allocated");
  if (options.only_allocated) return;
  bench::measure_together(line("create_free", "created", 1, 4096), 20, [] {
    static char heap[4096];
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(heap, sizeof heap, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
  });
}

/// Measures lock, put and unlock while four origins contend for one lock, and additions to one counter.
void measure_contended() {
  Memory const memory("allocated");
  std::size_t const origins = 4;
  bench::measure_together(line("contended_lock", "allocated", origins), 200, [&] {
    double value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, memory.window);
    MPI_Put(&value, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, memory.window);
    MPI_Win_unlock(target, memory.window);
  });
  long const one = 1;
  long result = 0;
  MPI_Win_lock_all(0, memory.window);
  bench::measure_together(line("contended_add", "allocated", origins), 1000, [&] {
    MPI_Fetch_and_op(&one, &result, MPI_LONG, target, 8, MPI_SUM, memory.window);
    MPI_Win_flush(target, memory.window);
  });
  MPI_Win_unlock_all(memory.window);
}

/// Measures an accumulate to a target that is outside of MPI for a second.
void measure_progress(Memory const& memory) {
  double const ones[16] = {};
  std::vector<double> times;
  for (int round = 0; round < 3; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench::rank() == target) {
      for (double const start = MPI_Wtime(); MPI_Wtime() - start < 1.0;) {
      }
      continue;
    }
    ::usleep(100000);
    double const start = MPI_Wtime();
    MPI_Accumulate(ones, 16, MPI_DOUBLE, target, memory.base, 16, MPI_DOUBLE, MPI_SUM, memory.window);
    MPI_Win_flush(target, memory.window);
    times.push_back((MPI_Wtime() - start) * 1e6);
  }
  if (bench::rank() != 0) return;
  std::sort(times.begin(), times.end());
  bench::print(line("accumulate_computing", memory.name, 1, 128), times[1]);
}

/// Measures one process with a region in one of its memory grants, or striped over all of its grants.
void measure_stripes() {
  std::vector<double> memory(bytes / 8, 1.0);
  for (char const* const kind : {"nam", "striped"}) {
    MPI_Win window = allocate(bytes, kind);
    MPI_Win_lock_all(0, window);
    for (std::size_t const size : {std::size_t{65536}, std::size_t{bytes}}) {
      auto const n = static_cast<int>(size / 8);
      bench::measure(line("put", kind, 1, size), [&] {
        MPI_Put(memory.data(), n, MPI_DOUBLE, 0, 0, n, MPI_DOUBLE, window);
        MPI_Win_flush(0, window);
      });
      bench::measure(line("get", kind, 1, size), [&] {
        MPI_Get(memory.data(), n, MPI_DOUBLE, 0, 0, n, MPI_DOUBLE, window);
        MPI_Win_flush(0, window);
      });
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
}

void measure_nam(Options const& options) {
  if (options.contended) {
    for (char const* const kind : {"allocated", "nam"}) measure_creation(kind);
    return measure_connection();
  }
  for (char const* const kind : {"allocated", "nam"}) {
    Memory const memory(kind);
    MPI_Win_lock_all(0, memory.window);
    measure_blocks(memory);
    measure_elements(memory, options);
    MPI_Win_unlock_all(memory.window);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  auto const has = [&](char const* argument) { return bench::has_argument(argc, argv, argument); };
  Options const options{has("--quick"), has("--for-comparison"), has("contended"),
                        has("nam"),     has("--only-allocated"), !has("--no-compare-swap")};
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (options.nam && size == 1) {
    measure_stripes();
    MPI_Finalize();
    return 0;
  }
  if (size != (options.contended ? 4 : 2))
    return bench::refuse(
        "bench_windows [nam] [contended] [--quick|--for-comparison] [--no-compare-swap] [--only-allocated]");
  if (options.nam) {
    measure_nam(options);
    MPI_Finalize();
    return 0;
  }
  if (options.contended) {
    measure_contended();
    MPI_Finalize();
    return 0;
  }
  for (char const* const kind : {"allocated", "created", "dynamic"}) {
    if (options.only_allocated && std::string(kind) != "allocated") continue;
    if (options.quick && std::string(kind) == "dynamic") continue;
    Memory const memory(kind);
    MPI_Win_lock_all(0, memory.window);
    measure_blocks(memory);
    measure_strided(memory);
    measure_elements(memory, options);
    if (!options.for_comparison) measure_progress(memory);
    MPI_Win_unlock_all(memory.window);
    MPI_Barrier(MPI_COMM_WORLD);
    measure_locks(memory);
  }
  measure_active(options);
  MPI_Finalize();
  return 0;
}
