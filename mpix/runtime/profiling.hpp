/// The profiling interface: each public call has a second name, PMPIX_..., by which a tool that replaces the
/// call reaches the library's implementation.
#pragma once

#include "include/mpix_rma.h"

/// Gives a call that is defined in this source its second name. The first name is weak, so that a program can
/// define it, even a program that is linked with the static library.
#define MPIX_PROFILED(call)                             \
  extern "C" __attribute__((weak)) decltype(call) call; \
  extern "C" MPIX_RMA_API decltype(call) P##call __attribute__((alias(#call)));
