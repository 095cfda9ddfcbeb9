#include "spec-conformance/mutations/windows/broken.hpp"

#include <utility>

namespace mpixrma::broken {

namespace {

std::thread::id const first_thread = std::this_thread::get_id();

}  // namespace

int Transfer::issue() const {
  if (kind == Kind::put)
    return PMPI_Put(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
  return PMPI_Get(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
}

bool Transfer::is_derived_at_target() const {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(target_type, &integers, &addresses, &types, &combiner);
  return combiner != MPI_COMBINER_NAMED;
}

int Late::keep_copy(Transfer const& transfer) {
  int size = 0;
  PMPI_Type_size(transfer.origin_type, &size);
  auto const* const origin = static_cast<char const*>(transfer.origin);
  kept_.push_back({transfer, {origin, origin + std::ptrdiff_t{size} * transfer.origin_count}});
  return MPI_SUCCESS;
}

int Late::keep(Transfer const& transfer) {
  kept_.push_back({transfer, {}});
  return MPI_SUCCESS;
}

void Late::issue() {
  for (Kept& one : std::exchange(kept_, {})) {
    if (!one.copy.empty()) one.transfer.origin = one.copy.data();
    one.transfer.issue();
    if (!one.copy.empty()) PMPI_Win_flush(one.transfer.rank, one.transfer.window);
  }
}

void Late::forget(MPI_Datatype type) {
  std::erase_if(kept_, [&](Kept const& one) { return one.transfer.target_type == type; });
}

Late& late() {
  static Late all;
  return all;
}

Windows& windows() {
  static Windows all;
  return all;
}

int own_rank(MPI_Win window) {
  MPI_Group group = MPI_GROUP_NULL;
  int rank = -1;
  PMPI_Win_get_group(window, &group);
  PMPI_Group_rank(group, &rank);
  PMPI_Group_free(&group);
  return rank;
}

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &error_class);
  return error_class;
}

int without_error(char const* clause, int code, int error_class) {
  return is(clause) && class_of(code) == error_class ? MPI_SUCCESS : code;
}

bool is_other_thread() { return std::this_thread::get_id() != first_thread; }

}  // namespace mpixrma::broken
