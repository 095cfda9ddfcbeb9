#include "spec-conformance/mutations/windows/broken.hpp"

#include <utility>

namespace mpixrma::broken {

int Transfer::issue() const {
  if (kind == Kind::put)
    return PMPI_Put(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
  return PMPI_Get(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window);
}

bool is_derived(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner != MPI_COMBINER_NAMED;
}

int WithheldTransfers::keep_copy(Transfer const& transfer) {
  int size = 0;
  PMPI_Type_size(transfer.origin_type, &size);
  auto const* const origin = static_cast<char const*>(transfer.origin);
  kept_.push_back({transfer, {origin, origin + std::ptrdiff_t{size} * transfer.origin_count}});
  return MPI_SUCCESS;
}

int WithheldTransfers::keep(Transfer const& transfer) {
  kept_.push_back({transfer, {}});
  return MPI_SUCCESS;
}

void WithheldTransfers::issue() {
  for (Kept& one : std::exchange(kept_, {})) {
    if (!one.copy.empty()) one.transfer.origin = one.copy.data();
    one.transfer.issue();
    if (!one.copy.empty()) PMPI_Win_flush(one.transfer.rank, one.transfer.window);
  }
}

void WithheldTransfers::forget(MPI_Datatype type) {
  std::erase_if(kept_, [&](Kept const& one) { return one.transfer.target_type == type; });
}

WithheldTransfers& withheld() {
  static WithheldTransfers all;
  return all;
}

Windows& windows() {
  static Windows all;
  return all;
}

}  // namespace mpixrma::broken
