/// Contiguous transfers, and completion at the target.
#include "armci/onesided.hpp"

#include <complex>
#include <cstring>

#include "armci/modes.hpp"
#include "include/armci/armcix.h"

namespace armci {

namespace {

template <typename T>
bool is_one(void const* scale) {
  T value;
  std::memcpy(&value, scale, sizeof value);
  return value == T(1);
}

}  // namespace

bool is_exclusive(int process, void const* remote, mpixrma::engine::Extent spanned) {
  auto const address = reinterpret_cast<mpixrma::RemoteAddress>(remote);
  int const mode = modes.get(process, address + static_cast<std::uint64_t>(spanned.begin),
                             address + static_cast<std::uint64_t>(spanned.end));
  return (mode & ARMCIX_MODE_CONFLICT_FREE) != 0;
}

mpixrma::engine::Reduction reduction_of(char const* call, int process, void const* remote,
                                        Scaled const& scaled, bool exclusive) {
  using mpixrma::engine::ElementType;
  struct Entry {
    ElementType type;
    bool (*is_one)(void const*);
  };
  // In the order of ARMCI_Acc_e.
  static constexpr Entry table[] = {
      {ElementType::int32, &is_one<int>},
      {ElementType::int64, &is_one<long>},
      {ElementType::float32, &is_one<float>},
      {ElementType::float64, &is_one<double>},
      {ElementType::complex_float, &is_one<std::complex<float>>},
      {ElementType::complex_double, &is_one<std::complex<double>>},
  };
  if (scaled.datatype < ARMCI_ACC_INT || scaled.datatype > ARMCI_ACC_DCP)
    fail_at(call, process, remote, "unknown accumulate type %d", scaled.datatype);
  if (scaled.scale == nullptr) fail_at(call, process, remote, "scale is null");
  Entry const& entry = table[scaled.datatype];
  return {entry.type, mpixrma::engine::ReduceOp::sum, !exclusive,
          entry.is_one(scaled.scale) ? nullptr : scaled.scale};
}

void check_flag(char const* call, int const* flag, int process) {
  if (flag == nullptr) fail_at(call, process, flag, "the address of the flag is null");
}

int put_flag(char const* call, int* flag, int value, int process) {
  // Ordering does not suffice: a target whose memory is not mapped here reports a rejection only at
  // completion.
  complete_at(call, process);
  return contiguous<Direction::put>(call, &value, flag, sizeof value, process, {}, Blocking{});
}

}  // namespace armci

using namespace armci;

int PARMCI_Put(void* src, void* dst, int size, int target) {
  return return_code_of(
      [&] { return contiguous<Direction::put>("ARMCI_Put", src, dst, size, target, {}, Blocking{}); });
}
int PARMCI_Get(void* src, void* dst, int size, int target) {
  return return_code_of(
      [&] { return contiguous<Direction::get>("ARMCI_Get", dst, src, size, target, {}, Blocking{}); });
}
int PARMCI_Acc(int datatype, void* scale, void* src, void* dst, int bytes, int proc) {
  return return_code_of([&] {
    return contiguous<Direction::accumulate>("ARMCI_Acc", src, dst, bytes, proc, {datatype, scale},
                                             Blocking{});
  });
}
int PARMCI_NbPut(void* src, void* dst, int bytes, int proc, void* hdl) {
  return return_code_of([&] {
    return contiguous<Direction::put>("ARMCI_NbPut", src, dst, bytes, proc, {}, NonBlocking{handle_of(hdl)});
  });
}
int PARMCI_NbGet(void* src, void* dst, int bytes, int proc, void* hdl) {
  return return_code_of([&] {
    return contiguous<Direction::get>("ARMCI_NbGet", dst, src, bytes, proc, {}, NonBlocking{handle_of(hdl)});
  });
}
int PARMCI_NbAcc(int datatype, void* scale, void* src, void* dst, int bytes, int proc, void* hdl) {
  return return_code_of([&] {
    return contiguous<Direction::accumulate>("ARMCI_NbAcc", src, dst, bytes, proc, {datatype, scale},
                                             NonBlocking{handle_of(hdl)});
  });
}
int PARMCI_Put_flag(void* src, void* dst, int size, int* flag, int value, int proc) {
  return return_code_of([&] {
    check_flag("ARMCI_Put_flag", flag, proc);
    contiguous<Direction::put>("ARMCI_Put_flag", src, dst, size, proc, {}, Blocking{});
    return put_flag("ARMCI_Put_flag", flag, value, proc);
  });
}

void PARMCI_Fence(int proc) {
  abort_on_failure([&] { complete_at("ARMCI_Fence", proc); });
}
void PARMCI_AllFence(void) {
  abort_on_failure([] { complete_everywhere("ARMCI_AllFence"); });
}
void PARMCI_Barrier(void) {
  abort_on_failure([&] {
    complete_everywhere("ARMCI_Barrier");
    world.barrier.wait();
  });
}
void PARMCI_Access_begin(void*) {}
void PARMCI_Access_end(void*) {}

ARMCI_ALIAS(Put);
ARMCI_ALIAS(Get);
ARMCI_ALIAS(Acc);
ARMCI_ALIAS(NbPut);
ARMCI_ALIAS(NbGet);
ARMCI_ALIAS(NbAcc);
ARMCI_ALIAS(Put_flag);
ARMCI_ALIAS(Fence);
ARMCI_ALIAS(AllFence);
ARMCI_ALIAS(Barrier);
ARMCI_ALIAS(Access_begin);
ARMCI_ALIAS(Access_end);

void ARMCI_Copy(void* src, void* dst, int size) {
  abort_on_failure([&] {
    if (size < 0) fail("ARMCI_Copy", "size %d is negative", size);
    if (size == 0) return;
    if (src == nullptr || dst == nullptr) fail("ARMCI_Copy", "%s is null", src == nullptr ? "src" : "dst");
    std::memmove(dst, src, static_cast<std::size_t>(size));
  });
}
