/// Notified operations on windows: the calls, which the MPI host implements.
#include <mutex>

#include "mpix/notify/reset.hpp"
#include "mpix/notify/watch.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/window_calls/call.hpp"
#include "mpix/window_calls/notification_keys.hpp"

MPIX_PROFILED(MPIX_Win_set_num_notify)
MPIX_PROFILED(MPIX_Win_get_num_notify)
MPIX_PROFILED(MPIX_Win_get_notify_value)
MPIX_PROFILED(MPIX_Win_reset_notify_value)
MPIX_PROFILED(MPIX_Win_wait_notify_value)
MPIX_PROFILED(MPIX_Put_notify)
MPIX_PROFILED(MPIX_Rput_notify)
MPIX_PROFILED(MPIX_Get_notify)
MPIX_PROFILED(MPIX_Rget_notify)
MPIX_PROFILED(MPIX_Accumulate_notify)
MPIX_PROFILED(MPIX_Raccumulate_notify)
MPIX_PROFILED(MPIX_Get_accumulate_notify)
MPIX_PROFILED(MPIX_Rget_accumulate_notify)

namespace mpixrma {

namespace {

/// Calls use(counter) with a counter of this process.
template <typename Use>
int with_counter(char const* call, MPI_Win win, int index, Use use) noexcept {
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    if (ops.window_targets(word_of(win)) < 0) return result_of(call, win, MPI_ERR_WIN);
    std::uint64_t* const counter = ops.window_counter(word_of(win), index);
    return counter != nullptr ? use(*counter)
                              : result_of_counter(call, win, MPI_ERR_ARG, {.notification = index});
  });
}

NamedArguments named_by(mpix_host_notified const& operation) noexcept {
  return {operation.rank, operation.notification, operation.origin_count, operation.count};
}

/// Starts the operation of a call without a request.
int notified(char const* call, MPI_Win win, mpix_host_notified const& operation) noexcept {
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    if (operation.rank == MPI_PROC_NULL) return MPI_SUCCESS;
    return result_of_counter(call, win, ops.window_notified(word_of(win), &operation, nullptr),
                             named_by(operation));
  });
}

/// Starts the operation of a call with a request.
int notified(char const* call, MPI_Win win, mpix_host_notified const& operation,
             MPI_Request* request) noexcept {
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    if (request == nullptr) return raise_on(call, win, MPI_ERR_REQUEST, "request is a null pointer");
    if (operation.rank == MPI_PROC_NULL) {
      *request = completed_request();
      return MPI_SUCCESS;
    }
    mpix_handle_t made = 0;
    int const error_class = ops.window_notified(word_of(win), &operation, &made);
    if (error_class == MPI_SUCCESS) *request = handle_from<MPI_Request>(made);
    return result_of_counter(call, win, error_class, named_by(operation));
  });
}

/// Returns the error of a window that cannot have `num` counters.
Failure wrong_number(mpix_host_ops const& ops, MPI_Win win, int num) {
  if (num < 0) return failure(MPI_ERR_ARG, "num %d is negative", num);
  MPI_Group group = MPI_GROUP_NULL;
  int rank = 0;
  PMPI_Win_get_group(win, &group);
  PMPI_Group_rank(group, &rank);
  PMPI_Group_free(&group);
  int present = 0;
  (void)ops.window_num_counters(word_of(win), rank, &present);
  if (num < present)
    return failure(MPI_ERR_ARG, "num %d is fewer than the present %d counters", num, present);
  if (num > engine::EngineCounters::most)
    return failure(MPI_ERR_ARG, "num %d is more than the %d counters that a process can have", num,
                   engine::EngineCounters::most);
  return failure(MPI_ERR_ARG, "num %d is more than the window's mpi_assert_max_num_notify permits", num);
}

using Kind = decltype(mpix_host_notified::kind);
constexpr Kind put_kind = mpix_host_notified::mpix_notified_put;
constexpr Kind get_kind = mpix_host_notified::mpix_notified_get;

mpix_host_notified describe(Kind kind, void const* origin, int origin_count, MPI_Datatype origin_type,
                            int rank, MPI_Aint disp, int count, MPI_Datatype type, int index) noexcept {
  mpix_host_notified made{};
  made.kind = kind;
  made.origin = const_cast<void*>(origin);
  made.origin_count = origin_count;
  made.origin_type = word_of(origin_type);
  made.rank = rank;
  made.disp = disp;
  made.count = count;
  made.type = word_of(type);
  made.notification = index;
  made.missing_class = keys().notification_class;
  return made;
}

mpix_host_notified accumulation(void const* origin, int origin_count, MPI_Datatype origin_type, int rank,
                                MPI_Aint disp, int count, MPI_Datatype type, MPI_Op op, int index) noexcept {
  auto made = describe(mpix_host_notified::mpix_notified_accumulate, origin, origin_count, origin_type, rank,
                       disp, count, type, index);
  made.op = word_of(op);
  return made;
}

mpix_host_notified fetching(mpix_host_notified made, void* result, int count, MPI_Datatype type) noexcept {
  made.fetches = 1;
  made.result = result;
  made.result_count = count;
  made.result_type = word_of(type);
  return made;
}

}  // namespace

NotificationKeys const& notification_keys() {
  static NotificationKeys made;
  static std::once_flag once;
  std::call_once(once, [] {
    for (int* const key : {&made.suggested, &made.most, &made.value})
      PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, key, nullptr);
    if (host().window_add_counter_attributes != nullptr)
      host().window_add_counter_attributes(made.suggested, made.most, made.value);
  });
  return made;
}

}  // namespace mpixrma

using namespace mpixrma;

/// The info object is ignored, because no hint applies.
int MPIX_Win_set_num_notify(MPI_Win win, MPI_Info, int num) {
  char const* const call = "MPIX_Win_set_num_notify";
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    int const error = ops.window_set_counters(word_of(win), num);
    if (error == MPI_ERR_ARG) return raise_on(call, win, wrong_number(ops, win, num));
    if (error == MPI_ERR_RMA_SYNC) return raise_on(call, win, error, "an access epoch is open");
    return result_of(call, win, error);
  });
}

int MPIX_Win_get_num_notify(MPI_Win win, int rank, int* num) {
  char const* const call = "MPIX_Win_get_num_notify";
  return with_window(call, win, [&](mpix_host_ops const& ops) {
    if (num == nullptr) return raise_on(call, win, MPI_ERR_ARG, "num is a null pointer");
    return result_of(call, win, ops.window_num_counters(word_of(win), rank, num), {.rank = rank});
  });
}

int MPIX_Win_get_notify_value(MPI_Win win, int notification_idx, MPI_Count* value) {
  char const* const call = "MPIX_Win_get_notify_value";
  return with_counter(call, win, notification_idx, [&](std::uint64_t const& counter) {
    if (value == nullptr) return raise_on(call, win, MPI_ERR_ARG, "value is a null pointer");
    *value = static_cast<MPI_Count>(__atomic_load_n(&counter, __ATOMIC_ACQUIRE));
    return MPI_SUCCESS;
  });
}

int MPIX_Win_reset_notify_value(MPI_Win win, int notification_idx, MPI_Count* value) {
  return with_counter("MPIX_Win_reset_notify_value", win, notification_idx, [&](std::uint64_t& counter) {
    auto const before = reset_counter(engine_of_process(), counter);
    if (value != nullptr) *value = static_cast<MPI_Count>(before);
    return MPI_SUCCESS;
  });
}

int MPIX_Win_wait_notify_value(MPI_Win win, int notification_idx, MPI_Count threshold, MPI_Request* request) {
  char const* const call = "MPIX_Win_wait_notify_value";
  return with_counter(call, win, notification_idx, [&](std::uint64_t const& counter) {
    Site const site{call, MPI_COMM_WORLD};
    Failure const failed = watch_counter(site, counter, notification_idx, threshold, request);
    return failed ? raise_on(call, win, failed) : MPI_SUCCESS;
  });
}

int MPIX_Put_notify(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                    int notification_idx, MPI_Win win) {
  return notified("MPIX_Put_notify", win,
                  describe(put_kind, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, notification_idx));
}

int MPIX_Rput_notify(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                     int notification_idx, MPI_Win win, MPI_Request* request) {
  return notified("MPIX_Rput_notify", win,
                  describe(put_kind, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, notification_idx),
                  request);
}

int MPIX_Get_notify(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                    int notification_idx, MPI_Win win) {
  return notified("MPIX_Get_notify", win,
                  describe(get_kind, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, notification_idx));
}

int MPIX_Rget_notify(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                     int notification_idx, MPI_Win win, MPI_Request* request) {
  return notified("MPIX_Rget_notify", win,
                  describe(get_kind, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, notification_idx),
                  request);
}

int MPIX_Accumulate_notify(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                           int target_rank, MPI_Aint target_disp, int target_count,
                           MPI_Datatype target_datatype, MPI_Op op, int notification_idx, MPI_Win win) {
  return notified("MPIX_Accumulate_notify", win,
                  accumulation(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                               target_count, target_datatype, op, notification_idx));
}

int MPIX_Raccumulate_notify(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                            int target_rank, MPI_Aint target_disp, int target_count,
                            MPI_Datatype target_datatype, MPI_Op op, int notification_idx, MPI_Win win,
                            MPI_Request* request) {
  return notified("MPIX_Raccumulate_notify", win,
                  accumulation(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                               target_count, target_datatype, op, notification_idx),
                  request);
}

int MPIX_Get_accumulate_notify(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                               void* result_addr, int result_count, MPI_Datatype result_datatype,
                               int target_rank, MPI_Aint target_disp, int target_count,
                               MPI_Datatype target_datatype, MPI_Op op, int notification_idx, MPI_Win win) {
  return notified("MPIX_Get_accumulate_notify", win,
                  fetching(accumulation(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                        target_count, target_datatype, op, notification_idx),
                           result_addr, result_count, result_datatype));
}

int MPIX_Rget_accumulate_notify(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                void* result_addr, int result_count, MPI_Datatype result_datatype,
                                int target_rank, MPI_Aint target_disp, int target_count,
                                MPI_Datatype target_datatype, MPI_Op op, int notification_idx, MPI_Win win,
                                MPI_Request* request) {
  return notified("MPIX_Rget_accumulate_notify", win,
                  fetching(accumulation(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                        target_count, target_datatype, op, notification_idx),
                           result_addr, result_count, result_datatype),
                  request);
}
