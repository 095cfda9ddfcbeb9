/// Latency and bandwidth in the form of the OSU benchmarks, and instructions of calls, by ARMCI; linked once
/// with this project's library and once with ARMCI-MPI.
///
/// usage: bench_osu_armci_* [--quick|--dense|--instructions]    (2 ranks)
#include <mpi.h>
// ARMCI-MPI's header has no C++ guard.
extern "C" {
#include <armci.h>
}

#include <vector>

#include "bench/support/osu.hpp"
#if defined(__x86_64__)
#include "bench/support/single_step.hpp"
#endif

namespace {

double scale = 1.0;

class Armci {
 public:
  static constexpr char const* name = "armci";
  Armci() {
    ARMCI_Malloc(bases_, static_cast<armci_size_t>(bench::target_offset + bench::osu_largest));
    origin_ = static_cast<double*>(ARMCI_Malloc_local(static_cast<armci_size_t>(bench::osu_largest)));
    std::fill_n(origin_, bench::osu_largest / sizeof(double), 1.0);
    target_ = static_cast<char*>(bases_[1]) + bench::target_offset;
    ARMCI_Barrier();
  }
  ~Armci() {
    ARMCI_Free_local(origin_);
    ARMCI_Free(bases_[bench::rank()]);
  }
  Armci(Armci const&) = delete;
  Armci& operator=(Armci const&) = delete;
  void put(std::size_t bytes) { ARMCI_NbPut(origin_, target_, static_cast<int>(bytes), 1, nullptr); }
  void get(std::size_t bytes) { ARMCI_NbGet(target_, origin_, static_cast<int>(bytes), 1, nullptr); }
  void accumulate(std::size_t bytes) {
    ARMCI_NbAcc(ARMCI_ACC_DBL, &scale, origin_, target_, static_cast<int>(bytes), 1, nullptr);
  }
  void fetch_add() {
    long fetched = 0;
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, target_, 1, 1);
  }
  void complete() {
    ARMCI_WaitProc(1);
    ARMCI_Fence(1);
  }

 private:
  void* bases_[2];
  double* origin_;
  char* target_;
};

#if defined(__x86_64__)
template <typename Operation>
void count(char const* operation, Operation call) {
  bench::report_instructions({"calls", bench::label_or("armci"), operation, "armci", 1, 8}, call);
}

void count_all() {
  void* bases[2];
  ARMCI_Malloc(bases, 4096);
  char* const target = static_cast<char*>(bases[1]) + bench::target_offset;
  double value = 0;
  long fetched = 0;
  count("put", [&] {
    ARMCI_Put(&value, target, sizeof value, 1);
    ARMCI_Fence(1);
  });
  count("get", [&] { ARMCI_Get(target, &value, sizeof value, 1); });
  count("accumulate", [&] {
    ARMCI_Acc(ARMCI_ACC_DBL, &scale, &value, target, sizeof value, 1);
    ARMCI_Fence(1);
  });
  count("fetch_add", [&] { ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, target, 1, 1); });
  ARMCI_Barrier();
  ARMCI_Free(bases[bench::rank()]);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes()) return bench::refuse("bench_osu_armci_* [--quick|--dense|--instructions]");
  ARMCI_Init();
#if defined(__x86_64__)
  if (bench::has_argument(argc, argv, "--instructions")) {
    count_all();
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
  }
#endif
  {
    Armci library;
    bench::osu_benchmarks(library, bench::sizes_chosen(argc, argv));
  }
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
