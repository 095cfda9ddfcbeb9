/// Latency and bandwidth in the form of the OSU benchmarks, by OpenSHMEM as Open MPI has it.
///
/// usage: bench_osu_shmem [--quick|--dense]    (2 ranks)
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <shmem.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "bench/support/osu.hpp"

namespace {

class Shmem {
 public:
  static constexpr char const* name = "shmem";
  Shmem() {
    base_ = static_cast<char*>(shmem_malloc(bench::target_offset + bench::osu_largest));
    if (base_ == nullptr) shmem_global_exit(1);
    target_ = base_ + bench::target_offset;
  }
  ~Shmem() { shmem_free(base_); }
  Shmem(Shmem const&) = delete;
  Shmem& operator=(Shmem const&) = delete;
  void put(std::size_t bytes) { shmem_putmem_nbi(target_, origin_.data(), bytes, 1); }
  void get(std::size_t bytes) { shmem_getmem_nbi(origin_.data(), target_, bytes, 1); }
  void fetch_add() { (void)shmem_long_atomic_fetch_add(reinterpret_cast<long*>(target_), 1, 1); }
  void complete() { shmem_quiet(); }

 private:
  char* base_;
  char* target_;
  std::vector<double> origin_ = std::vector<double>(bench::osu_largest / sizeof(double), 1.0);
};

/// Keeps mca_spml_ucx loaded: Open MPI before 4.1.6 unloads it in shmem_finalize and then calls its code.
int keep_loaded(dl_phdr_info* library, std::size_t, void*) {
  if (std::string_view(library->dlpi_name).find("mca_spml_ucx") != std::string_view::npos)
    (void)::dlopen(library->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes()) return bench::refuse("bench_osu_shmem [--quick|--dense]");
  shmem_init();
  ::dl_iterate_phdr(keep_loaded, nullptr);
  {
    Shmem library;
    bench::osu_benchmarks(library, bench::sizes_chosen(argc, argv));
  }
  shmem_finalize();  // ends MPI, too
  return 0;
}
