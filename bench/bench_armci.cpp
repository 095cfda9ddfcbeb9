/// ARMCI operations; linked once with this project's library and once with ARMCI-MPI.
///
/// usage: bench_armci_* [--quick|--for-comparison]    (2 ranks)
#include <mpi.h>
// ARMCI-MPI's header has no C++ guard.
extern "C" {
#include <armci.h>
}

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr std::size_t max_bytes = 4u << 20;
double scale = 2.0;

void contiguous(std::string const& implementation, char* origin, char* target, bench::Sizes chosen) {
  for (std::size_t const bytes : bench::sizes(chosen)) {
    int const n = static_cast<int>(bytes);
    bench::measure({"armci", implementation, "put", "allocated", 1, bytes},
                   [&] { ARMCI_Put(origin, target, n, 1); });
    bench::measure({"armci", implementation, "get", "allocated", 1, bytes},
                   [&] { ARMCI_Get(target, origin, n, 1); });
    if (bench::rank() == 0) std::memset(origin, 0, bytes);
    bench::measure({"armci", implementation, "acc", "allocated", 1, bytes},
                   [&] { ARMCI_Acc(ARMCI_ACC_DBL, &scale, origin, target, n, 1); });
  }
}

/// Rows of `segment` bytes, at a stride of twice that on both sides.
void strided(std::string const& implementation, char* origin, char* target, bench::Sizes chosen) {
  for (int const segment : {16, 1024}) {
    for (int segments = chosen == bench::Sizes::usual ? 1 : 1024; segments <= 1024; segments *= 4) {
      int stride = 2 * segment;
      int count[2] = {segment, segments};
      auto const line = [&](char const* operation) {
        return bench::Case{"armci",
                           implementation,
                           operation,
                           "allocated",
                           static_cast<std::size_t>(segments),
                           static_cast<std::size_t>(segment)};
      };
      bench::measure(line("puts"), [&] { ARMCI_PutS(origin, &stride, target, &stride, count, 1, 1); });
      bench::measure(line("gets"), [&] { ARMCI_GetS(target, &stride, origin, &stride, count, 1, 1); });
      bench::measure(line("accs"), [&] {
        ARMCI_AccS(ARMCI_ACC_DBL, &scale, origin, &stride, target, &stride, count, 1, 1);
      });
      // The loop that a program would write by hand for its own memory.
      std::vector<char> copy(static_cast<std::size_t>(stride) * static_cast<std::size_t>(segments));
      bench::measure(line("memcpy"), [&] {
        for (int i = 0; i < segments; ++i) {
          char* const to = copy.data() + i * stride;
          char const* const from = origin + i * stride;
          if (segment == 16) {
            std::memcpy(to, from, 16);
          } else {
            std::memcpy(to, from, 1024);
          }
        }
        asm volatile("" : : "r"(copy.data()) : "memory");
      });
    }
  }
}

/// Measures contiguous transfers with a local buffer that ARMCI has not allocated.
void local_buffers(std::string const& implementation, char* target, bench::Sizes chosen) {
  std::vector<char> heap(max_bytes, 0);
  for (std::size_t const bytes : bench::sizes(chosen)) {
    int const size = static_cast<int>(bytes);
    bench::measure({"armci", implementation, "put", "from_heap", 1, bytes},
                   [&] { ARMCI_Put(heap.data(), target, size, 1); });
    bench::measure({"armci", implementation, "get", "from_heap", 1, bytes},
                   [&] { ARMCI_Get(target, heap.data(), size, 1); });
  }
}

/// Describes segments of `bytes` bytes. Assigns by name, because ComEx has the members in another order.
armci_giov_t described(std::vector<void*>& from, std::vector<void*>& to, int bytes) {
  armci_giov_t list{};
  list.src_ptr_array = from.data();
  list.dst_ptr_array = to.data();
  list.bytes = bytes;
  list.ptr_array_len = static_cast<int>(from.size());
  return list;
}

/// Measures the same rows as a list of segments. ARMCI_IOV_METHOD selects the method of both libraries.
void listed(std::string const& implementation, char* origin, char* target, bench::Sizes chosen) {
  for (std::size_t const segment : {std::size_t{16}, std::size_t{1024}}) {
    for (std::size_t segments = chosen == bench::Sizes::usual ? 1 : 1024; segments <= 1024; segments *= 4) {
      std::vector<void*> here(segments);
      std::vector<void*> there(segments);
      for (std::size_t i = 0; i < segments; ++i) {
        here[i] = origin + 2 * segment * i;
        there[i] = target + 2 * segment * i;
      }
      int const bytes = static_cast<int>(segment);
      armci_giov_t to = described(here, there, bytes);
      armci_giov_t from = described(there, here, bytes);
      auto const line = [&](char const* operation) {
        return bench::Case{"armci", implementation, operation, "allocated", segments, segment};
      };
      bench::measure(line("putv"), [&] { ARMCI_PutV(&to, 1, 1); });
      bench::measure(line("getv"), [&] { ARMCI_GetV(&from, 1, 1); });
      bench::measure(line("accv"), [&] { ARMCI_AccV(ARMCI_ACC_DBL, &scale, &to, 1, 1); });
      for (std::size_t i = 0; i < segments; ++i) there[i] = target + 2 * segment * i + 8 * (i % 3 % 2);
      bench::measure(line("putv_irregular"), [&] { ARMCI_PutV(&to, 1, 1); });
      bench::measure(line("getv_irregular"), [&] { ARMCI_GetV(&from, 1, 1); });
      bench::measure(line("accv_irregular"), [&] { ARMCI_AccV(ARMCI_ACC_DBL, &scale, &to, 1, 1); });
    }
  }
}

/// Measures operations in which both processes take part.
void collective(std::string const& implementation, char* origin, char* target) {
  auto const both = [&](char const* operation, auto call) {
    bench::measure_together({"armci", implementation, operation, "allocated", 1, 8}, 2000, call);
  };
  both("barrier", [] { ARMCI_Barrier(); });
  ARMCI_Group group;
  int const members[] = {0, 1};
  ARMCI_Group_create(2, const_cast<int*>(members), &group);
  both("group_barrier", [&] { armci_msg_group_barrier(&group); });
  // Alternates the root of broadcasts, so that neither process runs ahead.
  double value = 0;
  int root = 0;
  both("bcast", [&] { armci_msg_bcast(&value, sizeof value, root ^= 1); });
  both("group_bcast",
       [&] { armci_msg_group_bcast_scope(SCOPE_ALL, &value, sizeof value, root ^= 1, &group); });
  char maximum[] = "max";
  both("reduction", [&] { armci_msg_dgop(&value, 1, maximum); });
#ifndef BENCH_COMEX  // ComEx has no such function
  both("group_reduction", [&] { armci_msg_group_dgop(&value, 1, maximum, &group); });
#endif
  both("put_barrier", [&] {
    ARMCI_Put(origin, target + 128, 8, 1);
    ARMCI_Barrier();
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  if (!bench::has_two_processes()) return bench::refuse("bench_armci_* [--quick|--for-comparison]");
  bench::Sizes const chosen = bench::sizes_chosen(argc, argv);
  std::string const implementation = bench::label_or("armci");
  void* bases[2];
  ARMCI_Malloc(bases, max_bytes);
  std::memset(bases[bench::rank()], 0, max_bytes);
  auto* const origin = static_cast<char*>(ARMCI_Malloc_local(max_bytes));
  std::memset(origin, 0, max_bytes);
  auto* const target = static_cast<char*>(bases[1]);
  MPI_Barrier(MPI_COMM_WORLD);

  contiguous(implementation, origin, target, chosen);
  strided(implementation, origin, target, chosen);
  listed(implementation, origin, target, chosen);
  local_buffers(implementation, target, chosen);
  long fetched = 0;
  ARMCI_AllFence();
  bench::measure({"armci", implementation, "rmw", "allocated", 1, 8},
                 [&] { ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, target, 1, 1); });
  bench::measure({"armci", implementation, "put_fence", "allocated", 1, 8}, [&] {
    ARMCI_Put(origin, target + 64, 8, 1);
    ARMCI_Fence(1);
  });
  bench::measure({"armci", implementation, "put_allfence", "allocated", 1, 8}, [&] {
    ARMCI_Put(origin, target + 64, 8, 1);
    ARMCI_AllFence();
  });
  collective(implementation, origin, target);
  ARMCI_Create_mutexes(1);
  bench::measure({"armci", implementation, "lock_unlock", "allocated", 1, 8}, [&] {
    ARMCI_Lock(0, 1);
    ARMCI_Unlock(0, 1);
  });
  ARMCI_Destroy_mutexes();
  ARMCI_Free_local(origin);
  ARMCI_Free(bases[bench::rank()]);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
