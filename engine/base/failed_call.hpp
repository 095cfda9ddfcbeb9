/// The system call whose failure made a function of the engine fail, for error texts.
#pragma once

#include <string>

#include "engine/base/status.hpp"

namespace mpixrma::engine {

/// Records that `call`, a static text, failed with `error`.
void record_failed_call(char const* call, int error) noexcept;

void forget_failed_call() noexcept;

/// The text of a status with which a function has just failed: the call recorded last in the process, with
/// its error, if the status does not tell the reason as exactly.
std::string text_of_failure(Status status);

}  // namespace mpixrma::engine
