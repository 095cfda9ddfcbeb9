/// MPIX_RMA beside the windows of the MPI library, on the same operations: contiguous put, get and accumulate
/// with remote completion, memory named by address, read-modify-write of one element and of many.
///
/// usage: bench_rma mpix|window|dynamic [--quick|--for-comparison] [--no-compare-swap]    (2 ranks)
///
/// --quick measures few sizes, --for-comparison those by which `bench/run --compare` compares two builds.
#include <mpi.h>
#include <mpix_rma.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr std::size_t max_bytes = 4u << 20;
MPI_Comm world = MPI_COMM_WORLD;

struct Options {
  bench::Sizes sizes = bench::Sizes::usual;
  bool compare_swap = true;  ///< measure compare-and-swap; off for Open MPI 4.1.4's osc/rdma, which crashes
};

enum class Rmw { fetch_add, swap, compare_swap };
constexpr char const* rmw_names[] = {"fetch_add", "swap", "compare_swap"};

template <typename T>
MPI_Datatype type_of() {
  return sizeof(T) == 4 ? MPI_INT : MPI_LONG;
}

/// An implementation: issues each operation on the memory `target` of rank 1 and completes it there.
struct Mpix {
  static constexpr char const* name = "mpix";
  static void run(MPIX_RMA_Op op, void* origin, std::size_t bytes, void* target) {
    int const count = static_cast<int>(bytes / 8);
    MPIX_RMA_xfer(op, origin, count, MPI_DOUBLE, 1, target, count, MPI_DOUBLE, nullptr, &world, nullptr);
    MPIX_RMA_Complete(&world, 1);
  }
  template <typename T>
  static T rmw(Rmw kind, T operand, T operand2, void* target) {
    T result{};
    MPI_Aint const where = reinterpret_cast<MPI_Aint>(target);
    static MPIX_RMA_Attributes blocking{MPIX_RMA_ATTR_BLOCKING, MPI_OP_NULL, nullptr, 0};
    if (kind == Rmw::compare_swap) {
      MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &operand, 1, type_of<T>(), &operand2, &result, 1, where, nullptr,
                    &world, &blocking);
    } else {
      MPIX_RMA_rmw(kind == Rmw::fetch_add ? MPIX_RMW_SUM : MPIX_RMW_SWAP, &operand, 1, type_of<T>(), &result,
                   1, where, nullptr, &world, &blocking);
    }
    return result;
  }
  static void fetch_and_add(void const* operand, void* result, int count, MPI_Datatype type, void* target) {
    MPIX_RMA_rmw(MPIX_RMW_SUM, const_cast<void*>(operand), count, type, result, 1,
                 reinterpret_cast<MPI_Aint>(target), nullptr, &world, nullptr);
    MPIX_RMA_Complete(&world, 1);
  }
  static void add(void const* operand, int count, MPI_Datatype type, void* target) {
    static MPIX_RMA_Attributes atomic{MPIX_RMA_ATTR_ATOMICITY, MPI_OP_NULL, nullptr, 0};
    MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, const_cast<void*>(operand), count, type, 1, target, count, type,
                  nullptr, &world, &atomic);
    MPIX_RMA_Complete(&world, 1);
  }
};

MPI_Win window = MPI_WIN_NULL;

/// Allocated and dynamic windows; displacements are relative to `base`.
struct Window {
  static inline char* base = nullptr;
  static MPI_Aint displacement(void* target) { return static_cast<char*>(target) - base; }
  static void run(MPIX_RMA_Op op, void* origin, std::size_t bytes, void* target) {
    int const count = static_cast<int>(bytes / 8);
    MPI_Aint const at = displacement(target);
    if (op == MPIX_RMA_PUT) MPI_Put(origin, count, MPI_DOUBLE, 1, at, count, MPI_DOUBLE, window);
    if (op == MPIX_RMA_GET) MPI_Get(origin, count, MPI_DOUBLE, 1, at, count, MPI_DOUBLE, window);
    if (op == MPIX_RMA_ACCUMULATE)
      MPI_Accumulate(origin, count, MPI_DOUBLE, 1, at, count, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_flush(1, window);
  }
  template <typename T>
  static T rmw(Rmw kind, T operand, T operand2, void* target) {
    T result{};
    MPI_Aint const at = displacement(target);
    if (kind == Rmw::compare_swap) {
      MPI_Compare_and_swap(&operand2, &operand, &result, type_of<T>(), 1, at, window);
    } else {
      MPI_Fetch_and_op(&operand, &result, type_of<T>(), 1, at, kind == Rmw::fetch_add ? MPI_SUM : MPI_REPLACE,
                       window);
    }
    MPI_Win_flush(1, window);
    return result;
  }
  static void fetch_and_add(void const* operand, void* result, int count, MPI_Datatype type, void* target) {
    MPI_Get_accumulate(operand, count, type, result, count, type, 1, displacement(target), count, type,
                       MPI_SUM, window);
    MPI_Win_flush(1, window);
  }
  static void add(void const* operand, int count, MPI_Datatype type, void* target) {
    MPI_Accumulate(operand, count, type, 1, displacement(target), count, type, MPI_SUM, window);
    MPI_Win_flush(1, window);
  }
};

char const* name_of(MPIX_RMA_Op op) {
  return op == MPIX_RMA_PUT ? "put" : op == MPIX_RMA_GET ? "get" : "accumulate";
}

/// Measures a fetching sum and an atomic accumulate of 1024 elements; an MPI window guarantees atomicity per
/// element only.
template <typename Implementation>
void measure_many(std::string const& implementation, std::string const& memory, char* target) {
  constexpr int count = 1024;
  constexpr std::size_t bytes = count * 8;
  std::vector<double> const operand(count, 1.0);
  std::vector<double> result(count);
  for (MPI_Datatype const type : {MPI_DOUBLE, MPI_LONG}) {
    std::string const suffix = type == MPI_DOUBLE ? "_double" : "_long";
    bench::measure({"rma", implementation, "rmw" + suffix, memory, 1, bytes}, [&] {
      Implementation::fetch_and_add(operand.data(), result.data(), count, type, target);
    });
    bench::measure({"rma", implementation, "atomic" + suffix, memory, 1, bytes},
                   [&] { Implementation::add(operand.data(), count, type, target); });
  }
}

/// Measures each operation on one element and checks the sum of the additions.
template <typename Implementation, typename T>
void measure_rmw(std::string const& implementation, std::string const& memory, char* target,
                 Options const& options) {
  for (Rmw const kind : {Rmw::fetch_add, Rmw::swap, Rmw::compare_swap}) {
    if (kind == Rmw::compare_swap && !options.compare_swap) continue;
    bench::Case const what{"rma", implementation, rmw_names[static_cast<int>(kind)], memory, 1, sizeof(T)};
    T const zero = 0;
    MPI_Barrier(world);
    if (bench::rank() == 1) std::memcpy(target, &zero, sizeof zero);
    MPI_Barrier(world);
    T calls = 0;
    bench::measure(what, [&] {
      Implementation::template rmw<T>(kind, 1, 1, target);
      ++calls;
    });
    if (bench::rank() == 0 && kind == Rmw::fetch_add)
      bench::require(Implementation::template rmw<T>(kind, 0, 0, target) == calls, what);
  }
}

template <typename Implementation>
void measure_all(std::string const& implementation, std::string const& memory, char* target,
                 Options const& options) {
  std::vector<double> origin(max_bytes / 8, 1.0);
  for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
    for (std::size_t const bytes : bench::sizes(options.sizes)) {
      bench::Case const what{"rma", implementation, name_of(op), memory, 1, bytes};
      bench::measure(what, [&] { Implementation::run(op, origin.data(), bytes, target); });
      if (bench::rank() == 0 && op == MPIX_RMA_PUT) {
        std::vector<double> pattern(bytes / 8);
        for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<double>(i) + 0.5;
        std::vector<double> back(bytes / 8);
        Implementation::run(MPIX_RMA_PUT, pattern.data(), bytes, target);
        Implementation::run(MPIX_RMA_GET, back.data(), bytes, target);
        bench::require(back == pattern, what);
      }
    }
  }
  measure_many<Implementation>(implementation, memory, target);
  measure_rmw<Implementation, long>(implementation, memory, target, options);
  measure_rmw<Implementation, int>(implementation, memory, target, options);
}

/// Measures a put with a request and the wait for it.
void measure_request(std::string const& implementation, char* target) {
  double const value = 1.0;
  bench::measure({"rma", implementation, "put_request", "allocated", 1, sizeof value}, [&] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<double*>(&value), 1, MPI_DOUBLE, 1, target, 1, MPI_DOUBLE,
                  &request, &world, nullptr);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_RMA_Complete(&world, 1);
  });
}

/// Returns rank 1's value of `mine` at both ranks.
char* address_of_target(void* mine) {
  auto value = reinterpret_cast<std::uintptr_t>(mine);
  MPI_Bcast(&value, sizeof value, MPI_BYTE, 1, world);
  return reinterpret_cast<char*>(value);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string const kind = argc > 1 ? argv[1] : "";
  Options const options{bench::sizes_chosen(argc, argv),
                        !bench::has_argument(argc, argv, "--no-compare-swap")};
  if (!bench::has_two_processes() || (kind != "mpix" && kind != "window" && kind != "dynamic"))
    return bench::refuse("bench_rma mpix|window|dynamic [--quick|--for-comparison] [--no-compare-swap]");
  std::string const implementation = bench::label_or(kind);
  std::vector<char> heap(bench::target_offset + max_bytes);
  if (kind == "mpix") {
    void* bases[2];
    MPIX_RMA_Allocate(bench::target_offset + max_bytes, MPI_INFO_NULL, world, nullptr, bases);
    measure_all<Mpix>(implementation, "allocated", static_cast<char*>(bases[1]) + bench::target_offset,
                      options);
    measure_request(implementation, static_cast<char*>(bases[1]) + bench::target_offset);
    measure_all<Mpix>(implementation, "heap", address_of_target(heap.data() + bench::target_offset), options);
    MPIX_RMA_Free(bases[bench::rank()], world);
  } else if (kind == "window") {
    char* mine = nullptr;
    MPI_Win_allocate(bench::target_offset + max_bytes, 1, MPI_INFO_NULL, world, &mine, &window);
    MPI_Win_lock_all(0, window);
    // Displacements are relative to the target's base; only rank 1 accesses the memory itself.
    Window::base = bench::rank() == 1 ? mine : nullptr;
    measure_all<Window>(implementation, "allocated", Window::base + bench::target_offset, options);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  } else {
    MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window);
    MPI_Win_attach(window, heap.data(), static_cast<MPI_Aint>(heap.size()));
    MPI_Win_lock_all(0, window);
    measure_all<Window>(implementation, "heap", address_of_target(heap.data() + bench::target_offset),
                        options);
    MPI_Win_unlock_all(window);
    MPI_Win_detach(window, heap.data());
    MPI_Win_free(&window);
  }
  MPI_Finalize();
  return 0;
}
