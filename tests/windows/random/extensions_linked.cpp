#include "include/mpix_rma.h"
#include "tests/windows/random/extensions.hpp"

namespace mpixrma::random_windows {

bool has_extensions() { return true; }

int set_counters(MPI_Win win, int number) { return MPIX_Win_set_num_notify(win, MPI_INFO_NULL, number); }

int count_counters(MPI_Win win, int rank, int* number) { return MPIX_Win_get_num_notify(win, rank, number); }

int read_counter(MPI_Win win, int index, CounterRead mode, MPI_Count* value) {
  return mode == CounterRead::reset ? MPIX_Win_reset_notify_value(win, index, value)
                                    : MPIX_Win_get_notify_value(win, index, value);
}

int wait_for_counter(MPI_Win win, int index, MPI_Count threshold, MPI_Request* request) {
  return MPIX_Win_wait_notify_value(win, index, threshold, request);
}

int issue_notified(Notified const& o) {
  bool const plain = o.request == nullptr;
  switch (o.call) {
    case Call::put:
      return plain ? MPIX_Put_notify(o.origin, o.origin_count, o.origin_type, o.target, o.at, o.count, o.type,
                                     o.notification, o.win)
                   : MPIX_Rput_notify(o.origin, o.origin_count, o.origin_type, o.target, o.at, o.count,
                                      o.type, o.notification, o.win, o.request);
    case Call::get:
      return plain ? MPIX_Get_notify(o.origin, o.origin_count, o.origin_type, o.target, o.at, o.count, o.type,
                                     o.notification, o.win)
                   : MPIX_Rget_notify(o.origin, o.origin_count, o.origin_type, o.target, o.at, o.count,
                                      o.type, o.notification, o.win, o.request);
    case Call::accumulate:
      return plain ? MPIX_Accumulate_notify(o.origin, o.origin_count, o.origin_type, o.target, o.at, o.count,
                                            o.type, o.op, o.notification, o.win)
                   : MPIX_Raccumulate_notify(o.origin, o.origin_count, o.origin_type, o.target, o.at, o.count,
                                             o.type, o.op, o.notification, o.win, o.request);
    default:
      return plain ? MPIX_Get_accumulate_notify(o.origin, o.origin_count, o.origin_type, o.result,
                                                o.result_count, o.result_type, o.target, o.at, o.count,
                                                o.type, o.op, o.notification, o.win)
                   : MPIX_Rget_accumulate_notify(o.origin, o.origin_count, o.origin_type, o.result,
                                                 o.result_count, o.result_type, o.target, o.at, o.count,
                                                 o.type, o.op, o.notification, o.win, o.request);
  }
}

int order_or_flush(Call call, int target, MPI_Win win, MPI_Request* request) {
  switch (call) {
    case Call::order: return MPIX_Win_order(target, win);
    case Call::order_all: return MPIX_Win_order_all(win);
    case Call::iflush: return MPIX_Win_iflush(target, win, request);
    case Call::iflush_all: return MPIX_Win_iflush_all(win, request);
    case Call::iflush_local: return MPIX_Win_iflush_local(target, win, request);
    case Call::iflush_local_all: return MPIX_Win_iflush_local_all(win, request);
    case Call::flush_thread: return MPIX_Win_flush_thread(target, win);
    default: return MPIX_Win_flush_thread_all(win);
  }
}

int flush_windows(std::vector<MPI_Win> const& windows) {
  return MPIX_Win_flush_windows(static_cast<int>(windows.size()), windows.data());
}

}  // namespace mpixrma::random_windows
