/// Creation and end of windows.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Collective. After a failure the window can only be deleted.
int open_window(Window& window, MPI_Comm comm, mpix_window_memory& memory);
/// Collective. Returns the first failure that was not reported. `*closed`: the window can only be deleted;
/// otherwise an epoch is open.
int close_window(Window& window, bool* closed);

}  // namespace mpixrma::windows
