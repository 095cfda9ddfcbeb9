/// Failures of requests that the application has freed. The window's next synchronisation reports them;
/// MPI_Finalize reports those that occur after the window was freed.
#pragma once

#include <cstdint>

#include "engine/op/late_error.hpp"

namespace mpixrma::windows {

/// Between the two calls, with its context number, the window reports such failures. Failures that it had to
/// report before are stored in the engine at that time.
void begin_reporting(std::uint32_t context);
void end_reporting(std::uint32_t context) noexcept;

/// Stores the failure for the window, or for print_unasked().
void keep_unasked(std::uint32_t context, engine::LateError const& error) noexcept;

/// Prints one line about failures that no window has reported. Called in MPI_Finalize.
void print_unasked();

}  // namespace mpixrma::windows
