/// What the calls on windows have in common: the host that makes the windows, and errors by their handlers.
#pragma once

#include "datatype/handle.hpp"
#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpixrma {

/// Through the window's handler.
__attribute__((cold)) inline int raise_on(char const* call, MPI_Win win, Failure const& failed) {
  int const code = make_code(call, failed);
  PMPI_Win_call_errhandler(win, code);
  return code;
}
__attribute__((cold)) inline int raise_on(char const* call, MPI_Win win, int error_class,
                                          char const* reason) {
  return raise_on(call, win, failure(error_class, "%s", reason));
}

/// The result of a call for the host's answer, an error class or a code with a text.
inline int told(char const* call, MPI_Win win, int error) {
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  int error_class = error;
  PMPI_Error_class(error, &error_class);
  if (error_class != error) {
    PMPI_Win_call_errhandler(win, error);
    return error;
  }
  char const* const reason = error_class == MPI_ERR_WIN        ? "the window is not one of this library"
                             : error_class == MPI_ERR_RANK     ? "the window has no such rank"
                             : error_class == MPI_ERR_RMA_SYNC ? "no epoch is open that permits it"
                                                               : "the operation is refused";
  return raise_on(call, win, error_class, reason);
}

/// The same of calls that name a notification counter, which is what MPI_ERR_ARG means then.
inline int told_of_counter(char const* call, MPI_Win win, int error_class) {
  if (error_class != MPI_ERR_ARG) return told(call, win, error_class);
  return raise_on(call, win, keys().notification_class, "there is no such notification counter");
}

/// use(host) with a host that makes windows.
template <typename Use>
int with_window(char const* call, MPI_Win win, Use use) noexcept try {
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  if (win == MPI_WIN_NULL) return raise({call}, MPI_ERR_WIN, "win is MPI_WIN_NULL");
  if (host().window_notified == nullptr)
    return raise_on(call, win, MPI_ERR_UNSUPPORTED_OPERATION, "the library makes no windows with this MPI");
  return use(host());
} catch (...) {
  return raise_exception(nullptr);
}

}  // namespace mpixrma
