/// Epochs and their end.
#include <chrono>
#include <utility>

#include "spec-conformance/mutations/windows/broken.hpp"

using namespace mpixrma::broken;

namespace {

void set(Marked<MPI_Win>& marked, MPI_Win window, bool has) {
  has ? marked.add(window) : marked.remove(window);
}

/// Locks of single targets that this process holds.
Marked<std::pair<MPI_Win, int>> locked;

std::size_t locks_of(MPI_Win window) {
  std::size_t count = 0;
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int rank = 0; rank < size; ++rank) count += locked.has({window, rank}) ? 1 : 0;
  return count;
}

/// Calls `part` for each rank.
template <typename Part>
int for_each_rank(Part part) {
  int size = 0;
  int code = MPI_SUCCESS;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int rank = 0; rank < size && code == MPI_SUCCESS; ++rank) code = part(rank);
  return code;
}

/// Issues withheld transfers before a synchronisation that completes them.
void late_before() {
  for (char const* const clause : {"W113_04", "W1135_01", "W1154_01", "W1154_02", "W1154_03", "W1172_02"})
    if (is(clause)) withheld().issue();
}

/// Issues withheld transfers before a flush. Transfers of the other clauses stay withheld.
void late_before_flush() {
  for (char const* const clause : {"W113_04", "W1154_02", "W1172_02"})
    if (is(clause)) withheld().issue();
}

}  // namespace

extern "C" {

int MPI_Win_fence(int assertions, MPI_Win window) {
  if (window == MPI_WIN_NULL)
    return without_error("W116_11", PMPI_Win_fence(assertions, window), MPI_ERR_WIN);
  windows().fenced.add(window);
  set(windows().without_puts, window, (assertions & MPI_MODE_NOPUT) != 0);
  int const code = PMPI_Win_fence(assertions, window);
  if (is("W1151_01")) withheld().issue();
  return without_error("W116_03", code, MPI_ERR_RMA_SYNC);
}

int MPI_Win_post(MPI_Group group, int assertions, MPI_Win window) {
  if (is("W1152_03") && group == MPI_GROUP_EMPTY) return MPI_ERR_GROUP;
  set(windows().posted_no_store, window, (assertions & MPI_MODE_NOSTORE) != 0);
  return PMPI_Win_post(group, assertions, window);
}

int MPI_Win_start(MPI_Group group, int assertions, MPI_Win window) {
  windows().started.add(window);
  return PMPI_Win_start(group, assertions, window);
}

int MPI_Win_complete(MPI_Win window) {
  windows().started.remove(window);
  return without_error("W116_02", PMPI_Win_complete(window), MPI_ERR_RMA_SYNC);
}

int MPI_Win_test(MPI_Win window, int* flag) {
  if (!is("W1152_04")) return PMPI_Win_test(window, flag);
  *flag = 1;
  return PMPI_Win_wait(window);
}

int MPI_Win_lock(int type, int rank, int assertions, MPI_Win window) {
  bool const shared = type == MPI_LOCK_SHARED;
  bool const is_repeated = !shared && windows().locked_before.has(window);
  if (!shared) windows().locked_before.add(window);
  if ((is("W1153_01") && is_repeated) || (is("W115_04") && is_other_thread())) type = MPI_LOCK_SHARED;
  if (is("W1153_02")) type = MPI_LOCK_EXCLUSIVE;
  set(windows().locked_unchecked, window, (assertions & MPI_MODE_NOCHECK) != 0);
  if (is("W1153_03") && shared) assertions |= MPI_MODE_NOCHECK;
  int const code = PMPI_Win_lock(type, rank, assertions, window);
  if (code == MPI_SUCCESS) locked.add({window, rank});
  return without_error("W116_04", without_error("W116_04", code, MPI_ERR_RMA_CONFLICT), MPI_ERR_RMA_SYNC);
}

int MPI_Win_unlock(int rank, MPI_Win window) {
  late_before();
  bool const several = is("W1153_04") && locks_of(window) > 1;
  locked.remove({window, rank});
  int const code = PMPI_Win_unlock(rank, window);
  if (several) return MPI_ERR_RMA_SYNC;
  if (is("W116_09") && windows().failed.has(window)) return MPI_ERR_RMA_SYNC;
  return code;
}

int MPI_Win_lock_all(int assertions, MPI_Win window) {
  windows().all_locked.add(window);
  if (is("W1153_07"))
    return for_each_rank([&](int rank) { return PMPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window); });
  return PMPI_Win_lock_all(assertions, window);
}

int MPI_Win_unlock_all(MPI_Win window) {
  late_before();
  windows().all_locked.remove(window);
  if (is("W1153_07")) return for_each_rank([&](int rank) { return PMPI_Win_unlock(rank, window); });
  int const code = PMPI_Win_unlock_all(window);
  return without_error("W116_14", code, MPI_ERR_RMA_RANGE);
}

int MPI_Win_flush(int rank, MPI_Win window) {
  late_before_flush();
  int const code = PMPI_Win_flush(rank, window);
  if (is("W1153_01") || is("W115_04")) std::this_thread::sleep_for(std::chrono::microseconds(200));
  if (!windows().allocated.has(window))
    return without_error("W116_14", without_error("W116_06", code, MPI_ERR_RANK), MPI_ERR_RMA_RANGE);
  return without_error("W116_06", code, MPI_ERR_RANK);
}

int MPI_Win_flush_all(MPI_Win window) {
  late_before_flush();
  return PMPI_Win_flush_all(window);
}

}  // extern "C"
