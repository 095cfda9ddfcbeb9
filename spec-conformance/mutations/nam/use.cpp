/// Communication with windows, and questions about them.
#include <algorithm>
#include <vector>

#include "spec-conformance/mutations/nam/broken.hpp"

using namespace mpixrma::broken;

namespace {

Made const& known(MPI_Win window) {
  static Made const other;
  auto const found = made.find(window);
  return found != made.end() ? found->second : other;
}

auto const query = next_definition<decltype(MPIX_Win_query)>("MPIX_Win_query");

/// Converts a displacement as if every region had units of 8 bytes, by which N_23/units is broken.
MPI_Aint in_units_of_8(MPI_Win window, int rank, MPI_Aint displacement) {
  MPI_Aint bytes = 0;
  int unit = 8;
  query(window, rank, &bytes, &unit);
  return displacement * 8 / unit;
}

/// Replaces an attribute by one in which all ranks have the value of rank 0.
template <typename Value>
void repeat_first(void* attribute) {
  static std::vector<Value> values;
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  auto* const given = static_cast<Value**>(attribute);
  values.assign(static_cast<std::size_t>(size), **given);
  *given = values.data();
}

bool is_key(int key, char const* name) {
  return key == next_definition<decltype(MPIX_RMA_Keyval)>("MPIX_RMA_Keyval")(name);
}

}  // namespace

extern "C" {

int MPI_Win_start(MPI_Group group, int assertions, MPI_Win window) {
  if (made.count(window) != 0) made[window].is_started = true;
  return PMPI_Win_start(group, assertions, window);
}

int MPI_Win_complete(MPI_Win window) {
  if (made.count(window) != 0) made[window].is_started = false;
  return PMPI_Win_complete(window);
}

int MPI_Put(void const* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  Made const& used = known(window);
  if (is("N_02") && used.is_flat && used.bytes == 0) return MPI_SUCCESS;
  if (is("N_06/start") && used.is_started) return MPI_SUCCESS;
  int const code =
      PMPI_Put(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
  if (used.is_flat) return without_error("N_02/targets", code, MPI_ERR_RMA_RANGE);
  return used.by_call ? without_error("N_23", code, MPI_ERR_RMA_RANGE) : code;
}

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  if (is("N_23/units") && known(window).by_call) displacement = in_units_of_8(window, rank, displacement);
  return PMPI_Get(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
}

int MPI_Rput(void const* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  if (is("N_06/requests")) rank = MPI_PROC_NULL;
  return PMPI_Rput(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window,
                   request);
}

int MPI_Fetch_and_op(void const* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement,
                     MPI_Op op, MPI_Win window) {
  if (!is("N_06") || type != MPI_LONG)
    return PMPI_Fetch_and_op(origin, result, type, rank, displacement, op, window);
  long value = 0;
  PMPI_Get(&value, 1, type, rank, displacement, 1, type, window);
  PMPI_Win_flush(rank, window);
  *static_cast<long*>(result) = value;
  PMPI_Reduce_local(origin, &value, 1, type, op);
  let_others_in();
  PMPI_Put(&value, 1, type, rank, displacement, 1, type, window);
  return PMPI_Win_flush(rank, window);
}

int MPI_Win_get_attr(MPI_Win window, int key, void* value, int* found) {
  int const code = PMPI_Win_get_attr(window, key, value, found);
  if (code != MPI_SUCCESS || *found == 0) return code;
  if (is("N_24") && is_key(key, "MPIX_WIN_SIZES")) repeat_first<MPI_Aint>(value);
  if (is("N_24/units") && is_key(key, "MPIX_WIN_DISP_UNITS")) repeat_first<int>(value);
  return code;
}

int MPIX_Win_query(MPI_Win window, int rank, MPI_Aint* size, int* unit) {
  return query(window, is("N_26") ? 0 : rank, size, unit);
}

}  // extern "C"
