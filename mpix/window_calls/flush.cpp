/// Ordering and completion calls on windows beyond MPI's flushes.
#include <span>

#include "mpix/request/native_request.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/window_calls/call.hpp"

MPIX_PROFILED(MPIX_Win_order)
MPIX_PROFILED(MPIX_Win_order_all)
MPIX_PROFILED(MPIX_Win_iflush)
MPIX_PROFILED(MPIX_Win_iflush_all)
MPIX_PROFILED(MPIX_Win_iflush_local)
MPIX_PROFILED(MPIX_Win_iflush_local_all)
MPIX_PROFILED(MPIX_Win_flush_windows)
MPIX_PROFILED(MPIX_Win_flush_thread)
MPIX_PROFILED(MPIX_Win_flush_thread_all)

namespace mpixrma {

namespace {

using Flush = mpix_host_flush;

/// The targets of a call: one rank, or all.
Flush with_target(decltype(Flush::kind) kind, int rank) noexcept { return {kind, 0, rank}; }
Flush with_all(decltype(Flush::kind) kind) noexcept { return {kind, 1, 0}; }
bool has_none(Flush const& what) noexcept { return what.all == 0 && what.rank == MPI_PROC_NULL; }

int flush(char const* call, MPI_Win win, Flush const& what) noexcept {
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    return has_none(what)
               ? MPI_SUCCESS
               : result_of(call, win, ops.window_flush(word_of(win), &what, nullptr), {.rank = what.rank});
  });
}

int flush(char const* call, MPI_Win win, Flush const& what, MPI_Request* request) noexcept {
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    if (request == nullptr) return raise_on(call, win, MPI_ERR_REQUEST, "request is a null pointer");
    if (has_none(what)) {
      *request = completed_request();
      return MPI_SUCCESS;
    }
    mpix_handle_t made = 0;
    int const error_class = ops.window_flush(word_of(win), &what, &made);
    if (error_class != MPI_SUCCESS) return result_of(call, win, error_class, {.rank = what.rank});
    *request = handle_from<MPI_Request>(made);
    return MPI_SUCCESS;
  });
}

}  // namespace
}  // namespace mpixrma

using namespace mpixrma;

int MPIX_Win_order(int rank, MPI_Win win) {
  return flush("MPIX_Win_order", win, with_target(Flush::mpix_flush_order, rank));
}

int MPIX_Win_order_all(MPI_Win win) {
  return flush("MPIX_Win_order_all", win, with_all(Flush::mpix_flush_order));
}

int MPIX_Win_iflush(int rank, MPI_Win win, MPI_Request* request) {
  return flush("MPIX_Win_iflush", win, with_target(Flush::mpix_flush_request, rank), request);
}

int MPIX_Win_iflush_all(MPI_Win win, MPI_Request* request) {
  return flush("MPIX_Win_iflush_all", win, with_all(Flush::mpix_flush_request), request);
}

int MPIX_Win_iflush_local(int rank, MPI_Win win, MPI_Request* request) {
  return flush("MPIX_Win_iflush_local", win, with_target(Flush::mpix_flush_request_local, rank), request);
}

int MPIX_Win_iflush_local_all(MPI_Win win, MPI_Request* request) {
  return flush("MPIX_Win_iflush_local_all", win, with_all(Flush::mpix_flush_request_local), request);
}

int MPIX_Win_flush_windows(int count, MPI_Win const wins[]) try {
  char const* const call = "MPIX_Win_flush_windows";
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  if (count < 0 || (count != 0 && wins == nullptr))
    return raise({call}, MPI_ERR_ARG, count < 0 ? "count is negative" : "wins is a null pointer");
  std::span const windows(wins, static_cast<std::size_t>(count));
  for (MPI_Win const win : windows) {
    int const code = flush(call, win, with_all(Flush::mpix_flush_begin));
    if (code != MPI_SUCCESS) return code;
  }
  int first = MPI_SUCCESS;
  for (MPI_Win const win : windows) {
    int const code = flush(call, win, with_all(Flush::mpix_flush_wait));
    if (first == MPI_SUCCESS) first = code;
  }
  return first;
} catch (...) {
  return raise_exception(nullptr);
}

int MPIX_Win_flush_thread(int rank, MPI_Win win) {
  return flush("MPIX_Win_flush_thread", win, with_target(Flush::mpix_flush_thread, rank));
}

int MPIX_Win_flush_thread_all(MPI_Win win) {
  return flush("MPIX_Win_flush_thread_all", win, with_all(Flush::mpix_flush_thread));
}
