/// Order and completion.
#include <atomic>
#include <utility>

#include "spec-conformance/mutations/extensions/broken.hpp"

using namespace mpixrma::broken;

namespace {

using Kind = Transfer::Kind;

/// Requests of MPIX_Win_iflush and its forms that no wait has completed.
std::atomic<int> flush_requests{0};
/// Whether this thread has called MPIX_Win_flush_thread in the epoch.
thread_local bool has_flushed = false;
/// Whether this thread has called MPIX_Win_order since its last put.
thread_local bool has_ordered = false;

/// Issues withheld transfers before a call that completes them.
void issue_late() { withheld().issue(); }

/// Begins a flush with a request. If `clause` is broken, the flush leaves out the withheld transfers.
int begin_flush(char const* clause, MPI_Win window, MPI_Request* request) {
  if (is("E_15") && is_other_thread()) return MPI_ERR_OTHER;
  if (is("E_13") && flush_requests.load() > 8) return MPI_ERR_OTHER;
  if (!is(clause)) issue_late();
  if (request != nullptr && all_locked.has(window)) ++flush_requests;
  return MPI_SUCCESS;
}

int end_of_epoch(MPI_Win window) {
  issue_late();
  until_end().issue();
  fenced.set(window, false);
  return MPI_SUCCESS;
}

void mark_order(MPI_Win window, MPI_Comm comm) {
  int same = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
  of_other_order.set(window, same != MPI_IDENT && same != MPI_CONGRUENT);
}

}  // namespace

extern "C" {

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  int const code = PMPI_Win_create(base, size, unit, info, comm, window);
  if (code == MPI_SUCCESS) mark_order(*window, comm);
  return code;
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  int const code = PMPI_Win_allocate(size, unit, info, comm, base, window);
  if (code == MPI_SUCCESS) mark_order(*window, comm);
  return code;
}

int MPI_Win_free(MPI_Win* window) {
  for (Marked* const marked : {&all_locked, &fenced, &with_counters, &with_request, &of_other_order})
    marked->set(*window, false);
  int const requests = flush_requests.exchange(0);
  int const code = PMPI_Win_free(window);
  return is("E_14") && requests != 0 && code == MPI_SUCCESS ? MPI_ERR_RMA_SYNC : code;
}

int MPI_Win_fence(int assertions, MPI_Win window) {
  fenced.set(window, true);
  return PMPI_Win_fence(assertions, window);
}

int MPI_Win_lock_all(int assertions, MPI_Win window) {
  all_locked.set(window, true);
  has_flushed = has_ordered = false;
  return PMPI_Win_lock_all(assertions, window);
}

int MPI_Win_unlock_all(MPI_Win window) {
  end_of_epoch(window);
  all_locked.set(window, false);
  return PMPI_Win_unlock_all(window);
}

int MPI_Win_unlock(int rank, MPI_Win window) {
  end_of_epoch(window);
  return PMPI_Win_unlock(rank, window);
}

int MPI_Win_flush(int rank, MPI_Win window) {
  issue_late();
  if (!is("W126_18") && !is("W126_12") && !is("E_10")) until_end().issue();
  return PMPI_Win_flush(rank, window);
}

int MPI_Put(void const* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  Transfer const put{Kind::put, const_cast<void*>(origin), origin_count, origin_type, rank, displacement,
                     window};
  int code = MPI_SUCCESS;
  bool const in_all = all_locked.has(window);
  bool const ordered = std::exchange(has_ordered, false);
  if (is("E_01") && in_all && ordered && origin_count == 1 && withheld().is_empty())
    return withheld().keep_copy(put);
  if ((is("E_01") || is("E_02") || is("E_04")) && !withheld().is_empty()) {
    code = put.issue();
    PMPI_Win_flush(rank, window);
    issue_late();
    return code;
  }
  is("E_03") ? withheld().issue_in_order(window) : issue_late();
  if (is("E_03") && in_all && origin_count > many) return withheld().keep_copy(put);
  if (is("E_10") && in_all && origin_count > many) return withheld().keep_copy(put);
  if (is("E_12") && !in_all && origin_count > many) return withheld().keep(put);
  code = PMPI_Put(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
  return without_error("E_17", code, MPI_ERR_RMA_RANGE);
}

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  if (is("E_20") && all_locked.all().size() == 2) return MPI_SUCCESS;
  if (is("E_22") && has_flushed) return MPI_SUCCESS;
  if (is("E_02") && !all_locked.has(window))
    return withheld().keep({Kind::get, origin, origin_count, origin_type, rank, displacement, window});
  return PMPI_Get(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
}

int MPI_Accumulate(void const* origin, int origin_count, MPI_Datatype origin_type, int rank,
                   MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win window) {
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is("E_11") && op == MPI_SUM && rank == size - 1) return MPI_SUCCESS;
  int const code = PMPI_Accumulate(origin, origin_count, origin_type, rank, displacement, target_count,
                                   target_type, op, window);
  if (is("E_03") && !withheld().is_empty()) {
    PMPI_Win_flush(rank, window);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    issue_late();
  }
  return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  flush_requests = 0;
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  flush_requests = 0;
  thresholds_awaited = 0;
  return without_error("E_17", PMPI_Wait(request, status), MPI_ERR_RMA_RANGE);
}

int MPIX_Win_order(int rank, MPI_Win window) {
  has_ordered = true;
  if (is("E_10")) issue_late();
  return without_error("E_05", PMPIX_Win_order(rank, window), MPI_ERR_RMA_SYNC);
}

int MPIX_Win_order_all(MPI_Win window) {
  has_ordered = true;
  if (is("E_10")) issue_late();
  return PMPIX_Win_order_all(window);
}

int MPIX_Win_iflush(int rank, MPI_Win window, MPI_Request* request) {
  int const code = begin_flush("E_10", window, request);
  if (code != MPI_SUCCESS) return code;
  return PMPIX_Win_iflush(rank, window, request);
}

int MPIX_Win_iflush_all(MPI_Win window, MPI_Request* request) {
  int const code = begin_flush("E_10", window, request);
  if (code != MPI_SUCCESS) return code;
  return without_error("E_16", PMPIX_Win_iflush_all(window, request), MPI_ERR_REQUEST);
}

int MPIX_Win_iflush_local(int rank, MPI_Win window, MPI_Request* request) {
  int const code = begin_flush("E_12", window, request);
  return code == MPI_SUCCESS ? PMPIX_Win_iflush_local(rank, window, request) : code;
}

int MPIX_Win_flush_thread(int rank, MPI_Win window) {
  issue_late();
  has_flushed = true;
  return PMPIX_Win_flush_thread(rank, window);
}

int MPIX_Win_flush_windows(int count, MPI_Win const windows[]) {
  issue_late();
  return without_error("E_21", PMPIX_Win_flush_windows(count, windows), MPI_ERR_ARG);
}

}  // extern "C"
