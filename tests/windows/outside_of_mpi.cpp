/// Calls on windows beyond MPI's are rejected before MPI_Init and after MPI_Finalize.
#include <mpix_rma.h>

#include <cstdio>

namespace {

struct Call {
  char const* name;
  int (*make)();
};

MPI_Win win = MPI_WIN_NULL;
MPI_Request request = MPI_REQUEST_NULL;
MPI_Count value = 0;
int number = 0;
long element = 1;

constexpr Call calls[] = {
    {"MPIX_Win_order", [] { return MPIX_Win_order(0, win); }},
    {"MPIX_Win_order_all", [] { return MPIX_Win_order_all(win); }},
    {"MPIX_Win_iflush", [] { return MPIX_Win_iflush(0, win, &request); }},
    {"MPIX_Win_iflush_all", [] { return MPIX_Win_iflush_all(win, &request); }},
    {"MPIX_Win_iflush_local", [] { return MPIX_Win_iflush_local(0, win, &request); }},
    {"MPIX_Win_iflush_local_all", [] { return MPIX_Win_iflush_local_all(win, &request); }},
    {"MPIX_Win_flush_windows", [] { return MPIX_Win_flush_windows(1, &win); }},
    {"MPIX_Win_flush_windows of none", [] { return MPIX_Win_flush_windows(0, nullptr); }},
    {"MPIX_Win_flush_windows of fewer", [] { return MPIX_Win_flush_windows(-1, &win); }},
    {"MPIX_Win_flush_thread", [] { return MPIX_Win_flush_thread(0, win); }},
    {"MPIX_Win_flush_thread_all", [] { return MPIX_Win_flush_thread_all(win); }},
    {"MPIX_Win_set_num_notify", [] { return MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 1); }},
    {"MPIX_Win_get_num_notify", [] { return MPIX_Win_get_num_notify(win, 0, &number); }},
    {"MPIX_Win_get_notify_value", [] { return MPIX_Win_get_notify_value(win, 0, &value); }},
    {"MPIX_Win_reset_notify_value", [] { return MPIX_Win_reset_notify_value(win, 0, &value); }},
    {"MPIX_Win_wait_notify_value", [] { return MPIX_Win_wait_notify_value(win, 0, 1, &request); }},
    {"MPIX_Put_notify", [] { return MPIX_Put_notify(&element, 1, MPI_LONG, 0, 0, 1, MPI_LONG, 0, win); }},
    {"MPIX_Rget_notify",
     [] { return MPIX_Rget_notify(&element, 1, MPI_LONG, 0, 0, 1, MPI_LONG, 0, win, &request); }},
};

/// Returns the number of calls that are not rejected.
int wrong_calls(char const* when) {
  int wrong = 0;
  for (Call const& call : calls) {
    int const code = call.make();
    if (code == MPI_ERR_OTHER) continue;
    std::printf("%s %s: %d\n", call.name, when, code);
    ++wrong;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int wrong = wrong_calls("before MPI_Init");
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  wrong += wrong_calls("after MPI_Finalize");
  return wrong == 0 && request == MPI_REQUEST_NULL ? 0 : 1;
}
