/// The profiling interface: each public call has a second name, PMPIX_..., under which a tool that defines
/// the call itself reaches the library's.
#pragma once

#include "include/mpix_rma.h"

/// Gives a call that this source defines its second name, and lets a program define the first one, also where
/// it is linked with the archive.
#define MPIX_PROFILED(call)                             \
  extern "C" __attribute__((weak)) decltype(call) call; \
  extern "C" MPIX_RMA_API decltype(call) P##call __attribute__((alias(#call)));
