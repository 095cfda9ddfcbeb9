/// Groups of processes.
#pragma once

#include "armci/state.hpp"

namespace armci {

void open_world_group();
void close_world_group();

/// The communicator of a group that the caller belongs to; ends the program otherwise.
MPI_Comm comm_of(char const* call, ARMCI_Group const* group);

}  // namespace armci
