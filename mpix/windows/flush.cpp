/// Order and completion of what was issued on windows: what there is beside MPI's flushes.
#include <span>

#include "mpix/windows/call.hpp"

namespace mpix {

namespace {

using Kind = decltype(mpix_host_flush::kind);

int flush(char const* call, MPI_Win win, mpix_host_flush const& what) noexcept {
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    if (what.all == 0 && what.rank == MPI_PROC_NULL) return MPI_SUCCESS;
    return told(call, win, ops.window_flush(number_of(win), &what));
  });
}

int flush_target(char const* call, MPI_Win win, Kind kind, int rank) noexcept {
  return flush(call, win, {kind, 0, rank});
}
int flush_all(char const* call, MPI_Win win, Kind kind) noexcept { return flush(call, win, {kind, 1, 0}); }

}  // namespace
}  // namespace mpix

using namespace mpix;

int MPIX_Win_order(int rank, MPI_Win win) {
  return flush_target("MPIX_Win_order", win, mpix_host_flush::mpix_flush_order, rank);
}

int MPIX_Win_order_all(MPI_Win win) {
  return flush_all("MPIX_Win_order_all", win, mpix_host_flush::mpix_flush_order);
}

int MPIX_Win_flush_windows(int count, MPI_Win const wins[]) {
  char const* const call = "MPIX_Win_flush_windows";
  if (count < 0 || (count != 0 && wins == nullptr))
    return raise({call}, MPI_ERR_ARG, count < 0 ? "count is negative" : "wins is a null pointer");
  std::span const windows(wins, static_cast<std::size_t>(count));
  for (MPI_Win const win : windows) {
    int const code = flush_all(call, win, mpix_host_flush::mpix_flush_begin);
    if (code != MPI_SUCCESS) return code;
  }
  int first = MPI_SUCCESS;
  for (MPI_Win const win : windows) {
    int const code = flush_all(call, win, mpix_host_flush::mpix_flush_wait);
    if (first == MPI_SUCCESS) first = code;
  }
  return first;
}

int MPIX_Win_flush_thread(int rank, MPI_Win win) {
  return flush_target("MPIX_Win_flush_thread", win, mpix_host_flush::mpix_flush_wait, rank);
}

int MPIX_Win_flush_thread_all(MPI_Win win) {
  return flush_all("MPIX_Win_flush_thread_all", win, mpix_host_flush::mpix_flush_wait);
}
