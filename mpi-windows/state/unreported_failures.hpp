/// Failures of requests that the application has freed. The window's next synchronisation reports them;
/// MPI_Finalize reports those that occur after the window was freed.
#pragma once

#include <cstdint>

#include "engine/op/late_error.hpp"

namespace mpixrma::windows {

/// A window exists, or has ended, that reports such failures. Between the two calls, failures with its
/// context number are stored in the engine for it.
void begin_reporting(std::uint32_t context);
void end_reporting(std::uint32_t context) noexcept;

/// Stores the failure: in the engine for the window if that still exists, else for print_unreported().
void keep_unreported(std::uint32_t context, engine::LateError const& error) noexcept;

/// Prints one line about failures that no window has reported. Called in MPI_Finalize.
void print_unreported();

}  // namespace mpixrma::windows
