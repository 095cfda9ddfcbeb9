/// The common part of the calls on windows: access to the host that provides windows, and their error
/// handlers.
#pragma once

#include "datatype/handle.hpp"
#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpixrma {

/// Raises the failure through the window's error handler.
__attribute__((cold)) inline int raise_on(char const* call, MPI_Win win, Failure const& failed) {
  int const code = make_code(call, failed);
  PMPI_Win_call_errhandler(win, code);
  return code;
}
__attribute__((cold)) inline int raise_on(char const* call, MPI_Win win, int error_class,
                                          char const* reason) {
  return raise_on(call, win, failure(error_class, "%s", reason));
}

/// Converts the host's answer, an error class or a code with a text, to the result of a call.
inline int result_of(char const* call, MPI_Win win, int error) {
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  int error_class = error;
  PMPI_Error_class(error, &error_class);
  if (error_class != error) {
    PMPI_Win_call_errhandler(win, error);
    return error;
  }
  char const* const reason = error_class == MPI_ERR_WIN        ? "the window does not belong to this library"
                             : error_class == MPI_ERR_RANK     ? "the window has no such rank"
                             : error_class == MPI_ERR_RMA_SYNC ? "no open epoch permits the operation"
                                                               : "the operation was rejected";
  return raise_on(call, win, error_class, reason);
}

/// As result_of(), for calls that name a notification counter, for which MPI_ERR_ARG means a wrong index.
inline int result_of_counter(char const* call, MPI_Win win, int error_class) {
  if (error_class != MPI_ERR_ARG) return result_of(call, win, error_class);
  return raise_on(call, win, keys().notification_class, "there is no such notification counter");
}

/// Calls use(host) if the host provides windows.
template <typename Use>
int with_window(char const* call, MPI_Win win, Use use) noexcept try {
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  if (win == MPI_WIN_NULL) return raise({call}, MPI_ERR_WIN, "win is MPI_WIN_NULL");
  if (host().window_notified == nullptr)
    return raise_on(call, win, MPI_ERR_UNSUPPORTED_OPERATION,
                    "the library does not provide windows with this MPI");
  return use(host());
} catch (...) {
  return raise_exception(nullptr);
}

}  // namespace mpixrma
