/// MPIX_RMA_Keyval: the attribute keys of communicators, request objects and windows, by name.
#include <string_view>

#include "include/mpix_rma.h"
#include "mpix/comm/keyvals.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/nam/windows.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/window_calls/notification_keys.hpp"

MPIX_PROFILED(MPIX_RMA_Keyval)

namespace mpixrma {

namespace {

int window_keyval_of(std::string_view name) {
  if (name == "MPIX_WIN_SIZES") return window_keys().sizes;
  if (name == "MPIX_WIN_DISP_UNITS") return window_keys().units;
  if (name == "MPIX_WIN_NOTIFICATION_NUM_SB") return notification_keys().suggested;
  if (name == "MPIX_WIN_NOTIFICATION_NUM_UB") return notification_keys().most;
  if (name == "MPIX_WIN_NOTIFICATION_VALUE_UB") return notification_keys().value;
  return MPI_KEYVAL_INVALID;
}

}  // namespace

}  // namespace mpixrma

int MPIX_RMA_Keyval(char const* name) try {
  using namespace mpixrma;
  if (prepare() != Readiness::ready || name == nullptr) return MPI_KEYVAL_INVALID;
  int const keyval = keyval_of(name);
  return keyval != MPI_KEYVAL_INVALID ? keyval : window_keyval_of(name);
} catch (...) {
  (void)mpixrma::raise_exception(nullptr);
  return MPI_KEYVAL_INVALID;
}
