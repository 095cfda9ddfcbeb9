/// Failures of requests that the application has freed. The window's next synchronisation reports them;
/// MPI_Finalize reports those that occur after the window was freed.
#pragma once

#include <cstdint>

#include "engine/op/late_error.hpp"

namespace mpixrma::windows {

struct Window;

/// Begin and end the time during which a window reports such failures. Between the two calls, failures with
/// the window's context number are stored in the engine.
void begin_reporting(Window& window);
void end_reporting(std::uint32_t context) noexcept;

/// Stores the failure. If the window still reports failures, the engine stores it, and the window's next
/// synchronisation with the target looks for it; else it is stored for print_unreported().
void keep_unreported(std::uint32_t context, engine::LateError const& error) noexcept;

/// Prints one line about failures that no window has reported. Called in MPI_Finalize.
void print_unreported();

}  // namespace mpixrma::windows
