#include "spec-conformance/mutations/extensions/broken.hpp"

#include <utility>

namespace mpixrma::broken {

Marked all_locked;
Marked fenced;
Marked with_counters;
Marked with_request;
Marked of_other_order;
thread_local int thresholds_awaited = 0;

int Transfer::issue() const {
  switch (kind) {
    case Kind::put: return PMPI_Put(origin, count, type, rank, displacement, count, type, window);
    case Kind::get: return PMPI_Get(origin, count, type, rank, displacement, count, type, window);
    default: return PMPIX_Put_notify(origin, count, type, rank, displacement, count, type, counter, window);
  }
}

int WithheldTransfers::keep(Transfer const& transfer) {
  std::lock_guard const held(lock_);
  kept_.push_back({transfer, {}});
  return MPI_SUCCESS;
}

int WithheldTransfers::keep_copy(Transfer const& transfer) {
  int size = 0;
  PMPI_Type_size(transfer.type, &size);
  auto const* const origin = static_cast<char const*>(transfer.origin);
  std::lock_guard const held(lock_);
  kept_.push_back(
      {transfer,
       {origin, origin + static_cast<std::size_t>(size) * static_cast<std::size_t>(transfer.count)}});
  return MPI_SUCCESS;
}

void WithheldTransfers::issue() {
  std::lock_guard const held(lock_);
  for (Kept& one : std::exchange(kept_, {})) {
    if (!one.copy.empty()) one.transfer.origin = one.copy.data();
    one.transfer.issue();
    issued_.push_back(std::move(one));
  }
}

void WithheldTransfers::issue_in_order(MPI_Win window) {
  if (is_empty()) return;
  issue();
  PMPIX_Win_order_all(window);
}

bool WithheldTransfers::is_empty() {
  std::lock_guard const held(lock_);
  return kept_.empty();
}

WithheldTransfers& withheld() {
  static WithheldTransfers all;
  return all;
}

WithheldTransfers& until_end() {
  static WithheldTransfers all;
  return all;
}

int no_such_counter() {
  int error_class = MPI_SUCCESS;
  PMPIX_RMA_Error_class(MPIX_RMA_ERR_NOTIFICATION, &error_class);
  return error_class;
}

}  // namespace mpixrma::broken
