/// The memory server's errors as those of windows.
#pragma once

#include "nam/protocol/error.hpp"
#include "windows/nam_window.hpp"

namespace mpix::windows {

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

}  // namespace mpix::windows
