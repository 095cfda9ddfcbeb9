/// Failures of requests that the application has freed: the window's next synchronisation tells them, and
/// MPI_Finalize those that come after the window.
#pragma once

#include <cstdint>

#include "engine/op/late_error.hpp"

namespace mpixrma::windows {

/// Until the second call, with the window's mark, the window tells failures. Those that it was to tell before
/// are at the engine then.
void begin_telling(std::uint32_t context);
void end_telling(std::uint32_t context) noexcept;

/// Keeps the failure for the window, or for print_unasked().
void keep_unasked(std::uint32_t context, engine::LateError const& error) noexcept;

/// One line about what no window has told. In MPI_Finalize.
void print_unasked();

}  // namespace mpixrma::windows
