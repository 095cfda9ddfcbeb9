/// MPI calls that the library intercepts.
#pragma once

#include <dlfcn.h>

#include "include/mpix_rma.h"

// Weak, because a statically linked tool may define some of them too.
#define MPIX_HOST_INTERCEPT MPIX_RMA_API __attribute__((weak))

namespace mpixrma::host {

/// Returns the next definition of the name: MPI's own, or a tool's.
template <typename Function>
Function* next(Function*, char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace mpixrma::host
