/// Atomic updates of one word, for ARMCI_Rmw and the mutexes.
#pragma once

#include "armci/state.hpp"

namespace armci {

/// Applies `operation` (sum or swap) to the int or long at `remote`; returns its previous value.
template <typename T>
T fetch(char const* call, mpix::engine::RmwOperation operation, T operand, void* remote, int process);

}  // namespace armci
