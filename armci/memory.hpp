/// Remote memory of the world and of groups.
#pragma once

#include "armci/state.hpp"

namespace armci {

/// Collective over `comm`: `bases` receives every member's address.
void allocate(char const* call, void** bases, armci_size_t bytes, MPI_Comm comm);
void release(char const* call, void* base, MPI_Comm comm);

/// Returns the number of processes of the group with which this process has allocated `base`; 0 if it has
/// not.
int processes_of_allocation(void* base);

/// Frees the allocations that the program has not freed at this process.
void free_all_memory();

}  // namespace armci
