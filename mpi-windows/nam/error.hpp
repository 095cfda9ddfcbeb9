/// Conversion of the memory server's errors to window errors.
#pragma once

#include "mpi-windows/nam/window.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::windows {

int class_of(nam::ErrorCode code) noexcept;

/// Returns the result of `call`, with the server's errors converted to NamError.
template <typename Call>
auto convert_server_errors(Call call) {
  try {
    return call();
  } catch (nam::Error const& error) {
    throw NamError(class_of(error.code()), error.what());
  }
}

}  // namespace mpixrma::windows
