/// Atomic updates of one word, for ARMCI_Rmw and the mutexes.
#pragma once

#include "armci/state.hpp"

namespace armci {

/// Adds `summand` to the long at `remote`; returns its previous value.
long fetch_and_add(char const* call, long summand, void* remote, int process);

}  // namespace armci
