/// Counters, and operations that increment them.
#include <cstdint>

#include "spec-conformance/mutations/extensions/broken.hpp"

using namespace mpixrma::broken;

namespace {

using Kind = Transfer::Kind;

/// Increments the counter of an operation, without the operation's data.
int notify(int rank, MPI_Aint displacement, int counter, MPI_Win window) {
  return PMPIX_Put_notify(nullptr, 0, MPI_LONG, rank, displacement, 0, MPI_LONG, counter, window);
}

int counters_of(MPI_Win window) {
  int num = 0;
  PMPIX_Win_get_num_notify(window, own_rank(window), &num);
  return num;
}

bool has_gaps(MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent > size;
}

/// Makes a request that is complete.
int complete_request(MPI_Win window, MPI_Request* request) {
  long nothing = 0;
  return PMPI_Rget(&nothing, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, window, request);
}

/// Issues data and increment of a put in the wrong order. Returns false if no broken clause concerns the put.
bool is_put_divided(Transfer const& put, int* code) {
  if ((is("W126_06") && put.count == 4096) || (is("W126_12") && put.count == 8192)) {
    *code = notify(put.rank, put.displacement, put.counter, put.window);
    Transfer data = put;
    data.kind = Kind::put;
    until_end().keep_copy(data);
    return true;
  }
  if (is("W126_18") && all_locked.has(put.window) && put.count == 1 && put.type == MPI_DOUBLE &&
      put.counter == 0) {
    Transfer data = put;
    data.kind = Kind::put;
    *code = data.issue();
    Transfer increment = put;
    increment.count = 0;
    if (*code == MPI_SUCCESS && put.rank != MPI_PROC_NULL) until_end().keep(increment);
    return true;
  }
  return false;
}

}  // namespace

extern "C" {

int MPIX_Win_set_num_notify(MPI_Win window, MPI_Info info, int num) {
  if (window != MPI_WIN_NULL) with_counters.set(window, num > 0);
  if (is("W126_02") && num == 1000) num = 999;
  if (is("W126_05") && info != MPI_INFO_NULL) return MPI_ERR_INFO;
  return without_error("W126_04", PMPIX_Win_set_num_notify(window, info, num), MPI_ERR_RMA_SYNC);
}

int MPIX_Win_get_num_notify(MPI_Win window, int rank, int* num) {
  int const code = PMPIX_Win_get_num_notify(window, rank, num);
  return without_error("W126_27", without_error("W126_03", code, MPI_ERR_RANK), MPI_ERR_WIN);
}

int MPIX_Win_get_notify_value(MPI_Win window, int counter, MPI_Count* value) {
  return without_error("W126_01", PMPIX_Win_get_notify_value(window, counter, value), no_such_counter());
}

int MPIX_Win_reset_notify_value(MPI_Win window, int counter, MPI_Count* value) {
  if (!is("W126_13") || value == nullptr) return PMPIX_Win_reset_notify_value(window, counter, value);
  int const code = PMPIX_Win_get_notify_value(window, counter, value);
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  return code == MPI_SUCCESS ? PMPIX_Win_reset_notify_value(window, counter, nullptr) : code;
}

int MPIX_Win_wait_notify_value(MPI_Win window, int counter, MPI_Count threshold, MPI_Request* request) {
  if (is("W126_23") && threshold == 11 && counters_of(window) == 2) threshold = 10;
  if (is("W126_25") && threshold == INT64_MAX) threshold = 0;
  if (is("W126_31") && threshold == 3 && thresholds_awaited != 0) threshold = 2;
  ++thresholds_awaited;
  return without_error("W126_24", PMPIX_Win_wait_notify_value(window, counter, threshold, request),
                       MPI_ERR_ARG);
}

int MPIX_Put_notify(void const* origin, int origin_count, MPI_Datatype origin_type, int rank,
                    MPI_Aint displacement, int target_count, MPI_Datatype target_type, int counter,
                    MPI_Win window) {
  Transfer const put{Kind::notified_put,
                     const_cast<void*>(origin),
                     origin_count,
                     origin_type,
                     rank,
                     displacement,
                     window,
                     counter};
  int code = MPI_SUCCESS;
  if (window != MPI_WIN_NULL) {
    if (is("W126_15") && rank == MPI_PROC_NULL) return MPI_ERR_RANK;
    if (origin_type == target_type && is_put_divided(put, &code)) return code;
    if (is("E_03")) withheld().issue_in_order(window);
    if (is("E_04") && origin_count > many) return withheld().keep_copy(put);
    auto const windows = with_counters.all();
    bool const several = windows.size() > 1 && all_locked.all().size() > 1;
    if (is("W126_26") && origin_count == 0 && several) window = windows.front();
  }
  if (is("W126_19") && has_gaps(target_type)) {
    target_count = 8 * origin_count;
    target_type = MPI_LONG;
  }
  code = PMPIX_Put_notify(origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                          counter, window);
  if (is("W126_09") && code == MPI_SUCCESS && origin_count == 1 && origin_type == MPI_DOUBLE && counter == 1)
    return notify(rank, displacement, counter, window);
  if (is("W126_28") && class_of(code) == MPI_ERR_RMA_RANGE) notify(rank, 0, counter, window);
  return is("W126_14") && fenced.has(window) ? without_error("W126_14", code, MPI_ERR_RMA_SYNC) : code;
}

int MPIX_Rput_notify(void const* origin, int origin_count, MPI_Datatype origin_type, int rank,
                     MPI_Aint displacement, int target_count, MPI_Datatype target_type, int counter,
                     MPI_Win window, MPI_Request* request) {
  bool const fits = rank >= 0 && rank < 2 && counter == 0 && origin_type == target_type && request != nullptr;
  bool const is_second = with_request.has(window);
  if (fits) with_request.set(window, true);
  if (is("W126_10") && fits && is_second && all_locked.has(window)) {
    until_end().keep({Kind::notified_put, const_cast<void*>(origin), origin_count, origin_type, rank,
                      displacement, window, counter});
    return complete_request(window, request);
  }
  return PMPIX_Rput_notify(origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                           counter, window, request);
}

int MPIX_Get_notify(void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
                    int target_count, MPI_Datatype target_type, int counter, MPI_Win window) {
  if (is("W126_16") && origin_count == 0) return MPI_SUCCESS;
  if (is("W126_07") && origin_count == 16384) {
    until_end().keep({Kind::get, origin, origin_count, origin_type, rank, displacement, window});
    return notify(rank, displacement, counter, window);
  }
  return PMPIX_Get_notify(origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                          counter, window);
}

int MPIX_Accumulate_notify(void const* origin, int origin_count, MPI_Datatype origin_type, int rank,
                           MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
                           int counter, MPI_Win window) {
  bool const silent = (is("W126_17") && counters_of(window) == 0) || (is("W126_21") && is_other_thread());
  if (silent)
    return PMPI_Accumulate(origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                           op, window);
  if (is("W126_20") && counter == 36) counter = 35;
  int const code = PMPIX_Accumulate_notify(origin, origin_count, origin_type, rank, displacement,
                                           target_count, target_type, op, counter, window);
  return without_error("W126_11", code, no_such_counter());
}

int MPIX_Get_accumulate_notify(void const* origin, int origin_count, MPI_Datatype origin_type, void* result,
                               int result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                               int target_count, MPI_Datatype target_type, MPI_Op op, int counter,
                               MPI_Win window) {
  if (is("W126_08") && origin_type == MPI_DOUBLE) op = MPI_NO_OP;
  if (is("W126_29") && of_other_order.has(window)) rank = own_rank(window);
  return PMPIX_Get_accumulate_notify(origin, origin_count, origin_type, result, result_count, result_type,
                                     rank, displacement, target_count, target_type, op, counter, window);
}

int MPI_Request_free(MPI_Request* request) {
  return is("W126_30") ? MPI_ERR_REQUEST : PMPI_Request_free(request);
}

int MPI_Win_get_attr(MPI_Win window, int key, void* value, int* found) {
  static int seven = 7;
  int const code = PMPI_Win_get_attr(window, key, value, found);
  if (is("W126_22") && key == PMPIX_RMA_Keyval("MPIX_WIN_NOTIFICATION_NUM_UB"))
    *static_cast<int**>(value) = &seven;
  return code;
}

}  // extern "C"
