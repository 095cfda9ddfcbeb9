/// Active-target synchronisation.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

int fence(Window& window, int assertion);
/// MPI_Win_post, MPI_Win_start, MPI_Win_complete, MPI_Win_wait and MPI_Win_test.
int post_exposure(Window& window, MPI_Group group, int assertion);
int start_access(Window& window, MPI_Group group, int assertion);
int complete_access(Window& window);
int wait_exposure(Window& window);
int test_exposure(Window& window, int* flag);

/// Whether the target has posted for this access epoch. Consumes the post.
bool has_post(Window const& window, Target& target) noexcept;
/// As above, but first polls for the time that a post usually takes.
bool has_post_soon(Window& window, Target& target);

}  // namespace mpixrma::windows
