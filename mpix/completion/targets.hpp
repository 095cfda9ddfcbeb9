/// The targets of a completion call: one rank, or all of a communicator.
#pragma once

#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"

namespace mpixrma {

/// The common part of these calls: applies `one` to the target of a valid rank, or `all` to the communicator.
/// Both return MPI error codes. `none` returns the result for MPI_PROC_NULL.
template <typename One, typename All, typename None>
int for_targets(char const* call, MPI_Comm const* comm, int rank, One one, All all, None none) {
  Communicator* const state = comm != nullptr ? Communicator::find(*comm) : nullptr;
  if (state == nullptr) return raise_unusable(call, comm);
  Site const site{call, state->handle()};
  if (Target* const target = state->target(rank)) return one(site, *target);
  if (rank == MPIX_ALL_RANKS) return all(site, *state);
  if (rank == MPI_PROC_NULL) return none();
  if (rank < 0 || rank >= state->size()) return raise_rank(site, rank, state->size());
  return raise(site, failure(engine::Status::unreachable, {rank}));
}

template <typename One, typename All>
int for_targets(char const* call, MPI_Comm const* comm, int rank, One one, All all) {
  return for_targets(call, comm, rank, one, all, [] { return MPI_SUCCESS; });
}

}  // namespace mpixrma
