/// Instructions that one small call executes in the library, counted by single-stepping: operations on 8
/// bytes of allocated memory of the last rank, by MPIX_RMA, MPI windows and ARMCI. Lines "c" and "c++" count
/// every instruction from the caller's on, of the same calls in C and in C++. Needs no hardware counters.
/// x86-64 only.
///
/// usage: bench_instructions    (1 or 2 ranks)
#include <armci.h>
#include <mpi.h>
#include <mpix_rma.hpp>

#include <vector>

#include "bench/support/harness.hpp"
#include "bench/support/single_step.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;

/// Prints at rank 0. `family` names the interface, in the column of the memory.
template <typename Operation>
void report(char const* family, char const* operation, Operation call) {
  bench::Case const what{"instructions", "mpix", operation, family, 1, 8};
  if (bench::rank() != 0 || !bench::is_wanted(what)) return;
  long const instructions = bench::count_instructions(bench::Text::of_library(), call);
  if (instructions < 0) {
    std::fprintf(stderr, "bench_instructions: the system does not permit ptrace\n");
    return;
  }
  bench::print(what, static_cast<double>(instructions));
}

int last_rank() {
  int size = 0;
  MPI_Comm_size(world, &size);
  return size - 1;
}

double value = 1;
double other = 2;
double result = 0;
long one = 1;
long fetched = 0;

void count_mpix(int target) {
  std::vector<void*> bases(static_cast<std::size_t>(target) + 1);
  MPIX_RMA_Allocate(4096, MPI_INFO_NULL, world, nullptr, bases.data());
  void* const base = bases[static_cast<std::size_t>(target)];
  auto const address = reinterpret_cast<MPI_Aint>(base);
  MPIX_RMA_Attributes blocking{MPIX_RMA_ATTR_BLOCKING, MPI_OP_NULL, nullptr, 0};
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_DOUBLE, target, MPI_DOUBLE, world, nullptr, &plan);
  auto const transfer = [&](MPIX_RMA_Op operation) {
    return [&, operation] {
      MPIX_RMA_xfer(operation, &value, 1, MPI_DOUBLE, target, base, 1, MPI_DOUBLE, nullptr, &world, nullptr);
    };
  };
  report("rma", "put", transfer(MPIX_RMA_PUT));
  report("rma", "get", transfer(MPIX_RMA_GET));
  report("rma", "accumulate", transfer(MPIX_RMA_ACCUMULATE));
  report("rma", "put_planned", [&] { MPIX_RMA_Plan_issue(plan, &value, 1, base, 1, nullptr); });
  report("rma", "complete", [&] { MPIX_RMA_Complete(&world, target); });
  report("rma", "fence", [&] { MPIX_RMA_Fence(&world, target); });
  report("rma", "fetch_add", [&] {
    MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &fetched, target, address, nullptr, &world, &blocking);
  });
  report("rma", "compare_swap", [&] {
    MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &one, 1, MPI_LONG, &one, &fetched, target, address, nullptr, &world,
                  &blocking);
  });
  MPIX_RMA_Plan_free(&plan);
  MPI_Barrier(world);
  MPIX_RMA_Free(bases[static_cast<std::size_t>(bench::rank())], world);
}

/// Ends the job on an error, as an uncaught exception would.
inline void check(int code) {
  if (code != MPI_SUCCESS) [[unlikely]]
    MPI_Abort(world, code);
}

/// Not inlined, so that every call is compiled in the same context.
template <typename Call>
[[gnu::noinline]] void perform(Call const& call) {
  call();
}

/// Counts a call with the preparation of its arguments. In both languages it checks for errors and takes its
/// arguments from variables.
template <typename Call>
void report_language(char const* language, char const* operation, Call call) {
  bench::report_instructions({"instructions", "mpix", operation, language, 1, 8}, [&] { perform(call); });
}

void count_languages(int target) {
  mpix::allocation<double> const memory = mpix::allocate<double>(world, 512);
  mpix::remote_ptr<double> const there = memory.at(target);
  mpix::remote_ptr<long> const counter(target, reinterpret_cast<long*>(there.address() + 1));
  std::vector<double> many(8);
  std::span<double> const values(many);
  report_language("c", "put", [&] {
    check(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_DOUBLE, there.rank(), there.address(), 1, MPI_DOUBLE,
                        nullptr, &world, nullptr));
  });
  report_language("c++", "put", [&] { mpix::put(world, value, there); });
  report_language("c", "put_span", [&] {
    check(MPIX_RMA_xfer_c(MPIX_RMA_PUT, values.data(), static_cast<MPI_Count>(values.size()), MPI_DOUBLE,
                          there.rank(), there.address(), static_cast<MPI_Count>(values.size()), MPI_DOUBLE,
                          nullptr, &world, nullptr));
  });
  report_language("c++", "put_span", [&] { mpix::put(world, values, there); });
  report_language("c", "put_ordered", [&] {
    MPIX_RMA_Attributes const chosen{MPIX_RMA_ATTR_ORDERING | MPIX_RMA_ATTR_BLOCKING, MPI_Op{}, nullptr, 0};
    check(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_DOUBLE, there.rank(), there.address(), 1, MPI_DOUBLE,
                        nullptr, &world, &chosen));
  });
  report_language("c++", "put_ordered",
                  [&] { mpix::put(world, value, there, {.ordering = true, .blocking = true}); });
  report_language("c", "fetch_add", [&] {
    MPIX_RMA_Attributes const chosen{MPIX_RMA_ATTR_BLOCKING, MPI_Op{}, nullptr, 0};
    long previous;
    check(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &previous, counter.rank(),
                       reinterpret_cast<MPI_Aint>(counter.address()), nullptr, &world, &chosen));
    fetched = previous;
  });
  report_language("c++", "fetch_add", [&] { fetched = mpix::fetch_add(world, counter, one); });
  report_language("c", "get", [&] {
    check(MPIX_RMA_xfer(MPIX_RMA_GET, &result, 1, MPI_DOUBLE, there.rank(), there.address(), 1, MPI_DOUBLE,
                        nullptr, &world, nullptr));
  });
  report_language("c++", "get", [&] { mpix::get(world, result, there); });
  mpix::put_plan<double> plan(world, target);
  report_language("c", "put_planned",
                  [&] { check(MPIX_RMA_Plan_issue(plan.native(), &value, 1, there.address(), 1, nullptr)); });
  report_language("c++", "put_planned", [&] { plan.issue(value, there); });
  mpix::complete(world);
}

void count_windows(int target) {
  char* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, world, &mine, &window);
  MPI_Win_lock_all(0, window);
  report("window", "put", [&] { MPI_Put(&value, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, window); });
  report("window", "get", [&] { MPI_Get(&result, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, window); });
  report("window", "accumulate",
         [&] { MPI_Accumulate(&value, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, MPI_SUM, window); });
  report("window", "fetch_and_op",
         [&] { MPI_Fetch_and_op(&one, &fetched, MPI_LONG, target, 0, MPI_SUM, window); });
  report("window", "compare_swap",
         [&] { MPI_Compare_and_swap(&one, &one, &fetched, MPI_LONG, target, 0, window); });
  report("window", "flush", [&] { MPI_Win_flush(target, window); });
  report("window", "flush_local", [&] { MPI_Win_flush_local(target, window); });
  MPI_Win_unlock_all(window);
  report("window", "lock_unlock", [&] {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Win_unlock(target, window);
  });
  MPI_Barrier(world);
  MPI_Win_free(&window);
}

void count_armci(int target) {
  ARMCI_Init();
  std::vector<void*> bases(static_cast<std::size_t>(target) + 1);
  ARMCI_Malloc(bases.data(), 4096);
  void* const base = bases[static_cast<std::size_t>(target)];
  report("armci", "put", [&] { ARMCI_Put(&value, base, sizeof value, target); });
  report("armci", "get", [&] { ARMCI_Get(base, &result, sizeof result, target); });
  report("armci", "acc", [&] { ARMCI_Acc(ARMCI_ACC_DBL, &other, &value, base, sizeof value, target); });
  report("armci", "rmw", [&] { ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, base, 1, target); });
  report("armci", "fence", [&] { ARMCI_Fence(target); });
  ARMCI_Barrier();
  ARMCI_Free(bases[static_cast<std::size_t>(bench::rank())]);
  ARMCI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  count_mpix(last_rank());
  count_languages(last_rank());
  count_windows(last_rank());
  count_armci(last_rank());
  MPI_Finalize();
  return 0;
}
