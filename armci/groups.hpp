/// Groups of processes.
#pragma once

#include <vector>

#include "armci/state.hpp"

namespace armci {

void open_world_group();
void close_world_group();

/// Returns the communicator of a group that the caller belongs to; otherwise throws a Failure.
MPI_Comm comm_of(char const* call, ARMCI_Group const* group);

/// Returns the processes of a communicator as ranks of the world, in the order of their ranks in `comm`.
std::vector<int> world_ranks(MPI_Comm comm);

/// Returns the same in ascending order: equal for all groups of the same processes.
std::vector<int> members_of(MPI_Comm comm);

/// Returns when every process of the group has called it. Collective over `group`.
void wait_for_group(char const* call, ARMCI_Group const* group);

/// Creates a group of the same processes with its own communicator. Collective over `group`.
void duplicate(char const* call, ARMCI_Group const* group, ARMCI_Group* copy);

}  // namespace armci
