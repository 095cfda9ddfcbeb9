/// Transfers of one value.
#include "armci/onesided.hpp"

#define ARMCI_VALUE_FUNCTIONS(name, type)                                                                   \
  int PARMCI_PutValue##name(type src, void* dst, int proc) {                                                \
    return PARMCI_Put(&src, dst, sizeof src, proc);                                                         \
  }                                                                                                         \
  /* The value is gone when the call returns: complete locally before. */                                   \
  int PARMCI_NbPutValue##name(type src, void* dst, int proc, armci_hdl_t*) {                                \
    return PARMCI_Put(&src, dst, sizeof src, proc);                                                         \
  }                                                                                                         \
  type PARMCI_GetValue##name(void* src, int proc) {                                                         \
    type value = 0;                                                                                         \
    armci::ending([&] {                                                                                     \
      armci::contiguous<armci::Direction::get>("ARMCI_GetValue" #name, &value, src, sizeof value, proc, {}, \
                                               armci::Blocking{});                                          \
    });                                                                                                     \
    return value;                                                                                           \
  }                                                                                                         \
  ARMCI_ALIAS(PutValue##name);                                                                              \
  ARMCI_ALIAS(NbPutValue##name);                                                                            \
  ARMCI_ALIAS(GetValue##name)

ARMCI_VALUE_FUNCTIONS(Int, int);
ARMCI_VALUE_FUNCTIONS(Long, long);
ARMCI_VALUE_FUNCTIONS(Float, float);
ARMCI_VALUE_FUNCTIONS(Double, double);
