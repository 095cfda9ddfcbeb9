/// Passive-target epochs.
#pragma once

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

// lock_target() and unlock_target() apply report() to their result themselves: a caller that composed the
// text would have to keep the rank in a register across each call.
int lock_target(Window& window, int type, int rank, int assertion) noexcept;
int unlock_target(Window& window, int rank) noexcept;
int lock_all(Window& window, int assertion);
int unlock_all(Window& window);
/// Local. Ends epochs that the program has left open, so that other processes get the locks and
/// close_window() succeeds.
void end_epochs(Window& window);

}  // namespace mpixrma::windows
