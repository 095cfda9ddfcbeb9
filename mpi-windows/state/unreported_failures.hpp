/// Failures of requests that the application has freed. The window's next synchronisation reports them;
/// MPI_Finalize reports those that occur after the window was freed.
#pragma once

#include <cstdint>

#include "engine/op/late_error.hpp"

namespace mpixrma::windows {

struct Window;

/// Begin and end the time during which a window reports such failures.
void begin_reporting(Window& window);
void end_reporting(std::uint32_t context) noexcept;

/// Stores the failure. If the window still reports failures, it stores the first one, and its next
/// synchronisation with the target looks for it; else the failure is stored for print_unreported(). `code`:
/// error code of the failure, or 0 if `error` has all that is known.
void keep_unreported(std::uint32_t context, engine::LateError const& error, int code) noexcept;

/// Returns the failure that is stored in the window, once, or MPI_SUCCESS.
int take_unreported(Window& window) noexcept;

/// Prints one line about failures that no window has reported. Called in MPI_Finalize.
void print_unreported();

}  // namespace mpixrma::windows
