/// The memory server's errors as those of windows.
#pragma once

#include "mpi-windows/nam/window.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::windows {

int class_of(nam::ErrorCode code) noexcept;

/// What `call` returns, with the server's errors as NamError.
template <typename Call>
auto at_server(Call call) {
  try {
    return call();
  } catch (nam::Error const& error) {
    throw NamError(class_of(error.code()), error.what());
  }
}

}  // namespace mpixrma::windows
