/// Active-target synchronisation.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

int fence(Window& window, int assertion);
/// MPI_Win_post, MPI_Win_start, MPI_Win_complete, MPI_Win_wait and MPI_Win_test.
int post_exposure(Window& window, MPI_Group group, int assertion);
int start_epoch(Window& window, MPI_Group group, int assertion);
int complete_epoch(Window& window);
int wait_exposure(Window& window);
int test_exposure(Window& window, int* flag);

/// Consumes the target's post for this access epoch. Returns false if it has not arrived.
bool take_post(Window const& window, Target& target) noexcept;
/// As take_post(), but first polls for the time that a post usually takes.
bool take_post_soon(Window& window, Target& target);

}  // namespace mpixrma::windows
