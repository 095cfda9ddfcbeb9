/// Calls of MPI that the library puts itself in front of.
#pragma once

#include <dlfcn.h>

#include "include/mpix_rma.h"

// Weak: a tool that is linked statically may define some of them, too.
#define MPIX_HOST_SEES MPIX_RMA_API __attribute__((weak))

namespace mpixrma::host {

/// The next of the name: MPI's own, or a tool's.
template <typename Function>
Function* next(Function*, char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace mpixrma::host
