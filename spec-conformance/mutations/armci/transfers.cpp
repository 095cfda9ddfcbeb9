/// Contiguous, strided and vector transfers of ARMCI that break a promise.
#include <algorithm>
#include <map>
#include <utility>

#include "spec-conformance/mutations/armci/broken.hpp"

namespace mpixrma::broken {

namespace {

using Until = WithheldTransfers::Until;

/// Whether the program has called MPI_Recv since its last MPI_Barrier.
bool has_received = false;

/// Posts a receive that takes a message of the program.
void take_message() {
  static std::vector<char> buffer(1 << 16);
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
             MPI_COMM_WORLD, &request);
}

bool put_broken(void* src, void* dst, int size, int process, int* code) {
  bool const is_word = size == sizeof(long);
  bool const is_right = size > 0 && process < armci_msg_nproc();
  if (is("P_02") && is_word) return *code = keep_put(Until::next_done, src, dst, size, process), true;
  if (is("A_15") && is_right && !is_word) {
    withheld().keep(Until::next, process, [=] { return PARMCI_Put(src, dst, size, process); });
    return *code = 0, true;
  }
  if ((is("A_02") || is("A_16") || is("A_17")) && is_right)
    return *code = keep_put(Until::next, src, dst, size, process), true;
  if (is("A_04")) take_message();
  if (is("P_08") && allocations().find(armci_msg_me(), src).offset >= 0) return *code = 0, true;
  if (is("P_13")) {
    Allocations::Place const place = allocations().find(process, dst);
    // Allocation 0 is the memory of the test fixture.
    if (place.offset >= 0 && place.allocation > 1) {
      char* const first = allocations().base(1, process);
      if (first != nullptr) return *code = PARMCI_Put(src, first + place.offset, size, process), true;
    }
  }
  return false;
}

/// An accumulate by a get and a put.
template <typename T>
int accumulate_in_two_steps(T scale, void const* src, void* dst, int bytes, int process) {
  auto const* const source = static_cast<T const*>(src);
  std::vector<T> sums(static_cast<std::size_t>(bytes) / sizeof(T));
  if (int const code = PARMCI_Get(dst, sums.data(), bytes, process); code != 0) return code;
  let_others_in();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += scale * source[i];
  return PARMCI_Put(sums.data(), dst, bytes, process);
}

bool accumulate_broken(int type, void* scale, void* src, void* dst, int bytes, int process, int* code) {
  bool const is_other = process != armci_msg_me();
  if (is("A_01") && is_other && type == ARMCI_ACC_DBL && bytes == sizeof(double)) {
    withheld().keep(Until::together, process,
                    [=, factor = *static_cast<double*>(scale), value = *static_cast<double*>(src)]() mutable {
                      return PARMCI_Acc(type, &factor, &value, dst, bytes, process);
                    });
    return *code = 0, true;
  }
  if (is("A_10") && type == ARMCI_ACC_DBL)
    return *code = accumulate_in_two_steps(*static_cast<double*>(scale), src, dst, bytes, process), true;
  if (is("P_14") && type == ARMCI_ACC_LNG)
    return *code = accumulate_in_two_steps(*static_cast<long*>(scale), src, dst, bytes, process), true;
  if (is("A_10/scale") && type == ARMCI_ACC_CPL) {
    float one[2] = {1, 0};
    return *code = PARMCI_Acc(type, one, src, dst, bytes, process), true;
  }
  if (is("P_12") && is_other && has_received) PMPI_Barrier(MPI_COMM_WORLD);
  return false;
}

}  // namespace
}  // namespace mpixrma::broken

using namespace mpixrma::broken;

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  has_received = true;
  return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm) {
  has_received = false;
  return PMPI_Barrier(comm);
}

int ARMCI_Put(void* src, void* dst, int size, int target) {
  int const result = in_turn(target, [&] {
    int code = 0;
    return put_broken(src, dst, size, target, &code) ? code : PARMCI_Put(src, dst, size, target);
  });
  previous = Previous::put;
  return result;
}

int ARMCI_Get(void* src, void* dst, int size, int target) {
  bool const writes = std::exchange(previous, Previous::other) == Previous::put && is("A_08");
  return in_turn(target, [&] {
    return writes ? PARMCI_Put(dst, src, size, target) : PARMCI_Get(src, dst, size, target);
  });
}

int ARMCI_Acc(int datatype, void* scale, void* src, void* dst, int bytes, int proc) {
  previous = Previous::other;
  if (is("A_02")) {
    auto const behind = withheld().take(Until::next, proc);
    int const code = PARMCI_Acc(datatype, scale, src, dst, bytes, proc);
    for (auto const& operation : behind) (void)operation();
    return code;
  }
  return in_turn(proc, [&] {
    int code = 0;
    if (accumulate_broken(datatype, scale, src, dst, bytes, proc, &code)) return code;
    return PARMCI_Acc(datatype, scale, src, dst, bytes, proc);
  });
}

int ARMCI_PutS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
               int stride_levels, int proc) {
  if (is("A_06") && stride_levels > 0) dst_stride_ar = src_stride_ar;
  if (is("A_07") && stride_levels == 0) return 1;
  return PARMCI_PutS(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels, proc);
}

int ARMCI_GetS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
               int stride_levels, int proc) {
  if (is("A_06/levels") && stride_levels == 8) return 1;
  return PARMCI_GetS(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels, proc);
}

int ARMCI_PutV(armci_giov_t* iov, int iov_len, int proc) {
  if (is("A_05") && iov_len > 1) iov_len = 1;
  if (is("P_09") && iov_len == 1) {
    std::reverse(iov->src_ptr_array, iov->src_ptr_array + iov->ptr_array_len);
    std::reverse(iov->dst_ptr_array, iov->dst_ptr_array + iov->ptr_array_len);
  }
  return PARMCI_PutV(iov, iov_len, proc);
}

int ARMCI_AccV(int datatype, void* scale, armci_giov_t* iov, int iov_len, int proc) {
  // The test of P_12 issues fewer vector accumulates.
  constexpr int in_time = 10;
  static std::map<int, int> pairs;
  if (is("P_03") && iov->ptr_array_len == 2 && ++pairs[proc] > in_time) {
    for (int i = 0; i < iov->ptr_array_len; ++i) {
      withheld().keep(Until::together, proc,
                      [=, place = iov->dst_ptr_array[i], factor = *static_cast<long*>(scale),
                       value = *static_cast<long*>(iov->src_ptr_array[i])]() mutable {
                        return PARMCI_Acc(datatype, &factor, &value, place, sizeof value, proc);
                      });
    }
    return 0;
  }
  return PARMCI_AccV(datatype, scale, iov, iov_len, proc);
}

int ARMCI_NbPut(void* src, void* dst, int bytes, int proc, void* hdl) {
  if (is("P_01") && bytes == 24000) {
    withheld().keep(Until::next, proc, [=] { return PARMCI_Put(src, dst, bytes, proc); });
    return 0;
  }
  return PARMCI_NbPut(src, dst, bytes, proc, hdl);
}

int ARMCI_NbGet(void* src, void* dst, int bytes, int proc, void* hdl) {
  if (is("A_09")) {
    withheld().keep(Until::next, proc, [=] { return PARMCI_Get(src, dst, bytes, proc); });
    return 0;
  }
  return PARMCI_NbGet(src, dst, bytes, proc, hdl);
}
