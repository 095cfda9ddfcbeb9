/// MPIX_RMA_Keyval: the attribute keys of communicators, request objects and windows, by name.
#include <string_view>

#include "include/mpix_rma.h"
#include "mpix/comm/keyvals.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/setup/window_keyvals.hpp"

MPIX_PROFILED(MPIX_RMA_Keyval)

int MPIX_RMA_Keyval(char const* name) try {
  using namespace mpixrma;
  if (prepare() != Readiness::ready || name == nullptr) return MPI_KEYVAL_INVALID;
  int const keyval = keyval_of(name);
  return keyval != MPI_KEYVAL_INVALID ? keyval : window_keyval_of(name);
} catch (...) {
  (void)mpixrma::raise_exception(nullptr);
  return MPI_KEYVAL_INVALID;
}
