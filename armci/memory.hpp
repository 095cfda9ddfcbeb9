/// Remote memory of the world and of groups.
#pragma once

#include "armci/state.hpp"

namespace armci {

/// Collective over `comm`: `bases` receives every member's address.
void allocate(char const* call, void** bases, armci_size_t bytes, MPI_Comm comm);
void release(char const* call, void* base, MPI_Comm comm);

/// Returns whether `base` is the first address of an allocation of this process.
bool is_allocated(void* base);
/// The same, of an allocation that exactly the processes of `comm` have made.
bool is_allocated_by(void* base, MPI_Comm comm);

/// Frees the allocations that the program has not freed at this process.
void free_all_memory();

}  // namespace armci
