/// Streams of ARMCI operations from both processes at once; linked once with this project's library and once
/// with ARMCI-MPI.
///
/// usage: bench_armci_streams_*    (2 ranks)
#include <mpi.h>
// ARMCI-MPI's header has no C++ guard.
extern "C" {
#include <armci.h>
}

#include <cstring>
#include <string>
#include <vector>

#include "bench/support/streams.hpp"

namespace {

constexpr int operations = 2000;
constexpr int segments = 8;
constexpr int segment_bytes = 128;
constexpr int stride = 2 * segment_bytes;
constexpr int extent_bytes = segments * stride;  ///< from the first segment to the end of the last stride
constexpr int gets_per_wait = 64;

struct Memory {
  char* local;
  char* remote;
  int peer;
};

bench::Case case_of(std::string const& implementation, char const* operation, std::size_t count,
                    std::size_t bytes) {
  return {"armci_stream", implementation, operation, "", count, bytes};
}

void strided(std::string const& implementation, Memory const& memory) {
  int strides[1] = {stride};
  int count[2] = {segment_bytes, segments};
  double scale = 1.0;
  auto const fence = [&] { ARMCI_Fence(memory.peer); };
  bench::measure_stream(
      case_of(implementation, "accs", segments, segment_bytes), operations,
      [&](int) {
        ARMCI_AccS(ARMCI_ACC_DBL, &scale, memory.local, strides, memory.remote, strides, count, 1,
                   memory.peer);
      },
      fence);
  bench::measure_stream(
      case_of(implementation, "puts", segments, segment_bytes), operations,
      [&](int) { ARMCI_PutS(memory.local, strides, memory.remote, strides, count, 1, memory.peer); }, fence);
  std::vector<armci_hdl_t> handles(gets_per_wait);
  auto const wait = [&] {
    for (auto& handle : handles) ARMCI_Wait(&handle);
  };
  bench::measure_stream(
      case_of(implementation, "nbgets", segments, segment_bytes), operations,
      [&](int i) {
        auto& handle = handles[static_cast<std::size_t>(i % gets_per_wait)];
        ARMCI_INIT_HANDLE(&handle);
        char* const into = memory.local + i % gets_per_wait * extent_bytes;
        ARMCI_NbGetS(memory.remote, strides, into, strides, count, 1, memory.peer, &handle);
        if (i % gets_per_wait == gets_per_wait - 1) wait();
      },
      [&] {
        for (int i = 0; i < operations % gets_per_wait; ++i)
          ARMCI_Wait(&handles[static_cast<std::size_t>(i)]);
      });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes()) return bench::refuse("bench_armci_streams_*");
  ARMCI_Init();
  std::string const implementation = bench::label_or("armci");
  void* bases[2];
  ARMCI_Malloc(bases, extent_bytes);
  std::memset(bases[bench::rank()], 0, extent_bytes);
  auto* const local = static_cast<char*>(ARMCI_Malloc_local(gets_per_wait * extent_bytes));
  std::memset(local, 0, gets_per_wait * extent_bytes);
  int const peer = 1 - bench::rank();
  strided(implementation, {local, static_cast<char*>(bases[peer]), peer});
  ARMCI_Barrier();
  ARMCI_Free_local(local);
  ARMCI_Free(bases[bench::rank()]);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
