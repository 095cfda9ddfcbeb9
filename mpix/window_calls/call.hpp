/// The common part of the calls on windows: access to the MPI host that provides windows, and the windows'
/// error handlers.
#pragma once

#include <cstdint>
#include <string>

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

/// The arguments of a call that its error texts name; the default values stand for arguments it lacks.
struct NamedArguments {
  int rank = MPI_PROC_NULL;
  int notification = -1;
  std::int64_t origin_count = 0;
  std::int64_t target_count = 0;
};

/// Returns a failure with a text, for an error class that the MPI host has returned without one.
__attribute__((cold)) inline Failure explain(int error_class, NamedArguments const& named) {
  switch (error_class) {
    case MPI_ERR_WIN: return failure(error_class, "the window does not belong to this library");
    case MPI_ERR_RANK: return failure(error_class, "the window has no rank %d", named.rank);
    case MPI_ERR_RMA_SYNC: return failure(error_class, "no open epoch permits the operation");
    case MPI_ERR_COUNT:
      return failure(error_class, "origin_count %lld or target_count %lld is negative",
                     static_cast<long long>(named.origin_count), static_cast<long long>(named.target_count));
    case MPI_ERR_TYPE:
      return failure(error_class, "a datatype is not committed, or the two sides differ in size or type");
    case MPI_ERR_OP: return failure(error_class, "op is not predefined, or not defined for the datatype");
    default: return failure(error_class, "the operation was rejected");
  }
}

/// Converts the MPI host's answer, an error class or a code with a text, to the result of a call.
inline int result_of(char const* call, MPI_Win win, int error, NamedArguments const& named = {}) {
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  int error_class = error;
  PMPI_Error_class(error, &error_class);
  if (error_class == error) return raise_on(call, win, explain(error_class, named));
  PMPI_Win_call_errhandler(win, error);
  return error;
}

/// Describes the counters of a rank, or of this process if `rank` is MPI_PROC_NULL.
__attribute__((cold)) inline std::string describe_counters(MPI_Win win, int rank) {
  if (rank == MPI_PROC_NULL) {
    MPI_Group group = MPI_GROUP_NULL;
    PMPI_Win_get_group(win, &group);
    PMPI_Group_rank(group, &rank);
    PMPI_Group_free(&group);
  }
  int num = 0;
  (void)host().window_num_counters(word_of(win), rank, &num);
  return num > 0 ? "it has counters 0 to " + std::to_string(num - 1) : "it has none";
}

/// As result_of(), for calls that name a notification counter, for which MPI_ERR_ARG means a wrong index.
inline int result_of_counter(char const* call, MPI_Win win, int error_class, NamedArguments const& named) {
  if (error_class != MPI_ERR_ARG) return result_of(call, win, error_class, named);
  bool const is_own = named.rank == MPI_PROC_NULL;
  std::string const owner = is_own ? "this process" : "rank " + std::to_string(named.rank);
  return raise_on(call, win,
                  failure(keys().notification_class, "%s has no notification counter %d: %s", owner.c_str(),
                          named.notification, describe_counters(win, named.rank).c_str()));
}

/// Calls use(host) if the MPI host provides windows.
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
