/// Instructions of one call with remote completion, in user space and in every library: put, get, accumulate
/// and fetch-and-add of 8 bytes by MPIX_RMA and by MPI windows, a plain store, and a put with each attribute
/// and each pair, without its completion. The instructions of an empty call are subtracted. x86-64 only.
///
/// usage: bench_calls mpix|window    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>

#include <string>

#include "bench/support/attributes.hpp"
#include "bench/support/single_step.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;
double value = 1;
long one = 1;
long fetched = 0;

/// `memory` names the interface in family "calls".
template <typename Operation>
void report(char const* family, std::string const& operation, std::string const& memory, Operation call) {
  bench::report_instructions({family, bench::label_or("mpix"), operation, memory, 1, 8}, call);
}

void count_mpix() {
  void* bases[2];
  MPIX_RMA_Allocate(4096, MPI_INFO_NULL, world, nullptr, bases);
  MPIX_RMA_Set_num_notify(world, 1);
  auto* const target = static_cast<double*>(bases[1]) + bench::target_offset / 8;
  auto const transfer = [&](MPIX_RMA_Op operation) {
    return [=] {
      MPIX_RMA_xfer(operation, &value, 1, MPI_DOUBLE, 1, target, 1, MPI_DOUBLE, nullptr, &world, nullptr);
      MPIX_RMA_Complete(&world, 1);
    };
  };
  report("calls", "put", "mpix", transfer(MPIX_RMA_PUT));
  report("calls", "get", "mpix", transfer(MPIX_RMA_GET));
  report("calls", "accumulate", "mpix", transfer(MPIX_RMA_ACCUMULATE));
  report("calls", "fetch_add", "mpix", [&] {
    static MPIX_RMA_Attributes blocking{MPIX_RMA_ATTR_BLOCKING, MPI_OP_NULL, nullptr, 0};
    MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &fetched, 1, reinterpret_cast<MPI_Aint>(target), nullptr,
                 &world, &blocking);
  });
  // Stands for a store to the target's memory, which this process maps.
  report("calls", "put", "store", [] {
    static double volatile cell;
    cell = value;
  });
  bench::for_each_attribute_set(bench::Communicatable::both, [&](std::string const& name, std::uint64_t set) {
    report("attribute_calls", name, "allocated", [=] {
      static MPIX_RMA_Attributes chosen{0, MPI_OP_NULL, nullptr, 0};
      chosen.set = set;
      MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_DOUBLE, 1, target, 1, MPI_DOUBLE, nullptr, &world,
                    set != 0 ? &chosen : nullptr);
    });
    MPIX_RMA_Complete(&world, 1);
  });
  MPIX_RMA_Free(bases[bench::rank()], world);
}

void count_windows() {
  char* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, world, &mine, &window);
  MPI_Win_lock_all(0, window);
  constexpr MPI_Aint at = bench::target_offset;
  report("calls", "put", "window", [&] {
    MPI_Put(&value, 1, MPI_DOUBLE, 1, at, 1, MPI_DOUBLE, window);
    MPI_Win_flush(1, window);
  });
  report("calls", "get", "window", [&] {
    MPI_Get(&value, 1, MPI_DOUBLE, 1, at, 1, MPI_DOUBLE, window);
    MPI_Win_flush(1, window);
  });
  report("calls", "accumulate", "window", [&] {
    MPI_Accumulate(&value, 1, MPI_DOUBLE, 1, at, 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_flush(1, window);
  });
  report("calls", "fetch_add", "window", [&] {
    MPI_Fetch_and_op(&one, &fetched, MPI_LONG, 1, at, MPI_SUM, window);
    MPI_Win_flush(1, window);
  });
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string const kind = argc > 1 ? argv[1] : "";
  if (!bench::has_two_processes() || (kind != "mpix" && kind != "window"))
    return bench::refuse("bench_calls mpix|window");
  if (kind == "mpix") {
    count_mpix();
  } else {
    count_windows();
  }
  MPI_Finalize();
  return 0;
}
