/// MPIX_RMA_Complete and MPIX_RMA_Fence.
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/completion/targets.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/transfer.hpp"

MPIX_PROFILED(MPIX_RMA_Complete)
MPIX_PROFILED(MPIX_RMA_Fence)

namespace mpixrma {

namespace {

int raise_if_failed(Site const& site, LateFailure const& failed) {
  return engine::failed(failed.error.status) ? raise(site, late_failure(failed)) : MPI_SUCCESS;
}

__attribute__((noinline)) int complete_slow_path(MPI_Comm* communicator, int rank) try {
  LateFailure failed;
  auto const one = [&](Site const& site, Target& target) {
    (void)complete(target, &failed);
    return raise_if_failed(site, failed);
  };
  auto const all = [&](Site const& site, Communicator& state) {
    (void)complete_all(state, &failed);
    return raise_if_failed(site, failed);
  };
  return for_targets("MPIX_RMA_Complete", communicator, rank, one, all);
} catch (...) {
  return raise_exception(communicator, "MPIX_RMA_Complete");
}

}  // namespace
}  // namespace mpixrma

int MPIX_RMA_Complete(MPI_Comm* communicator, int target_rank) {
  // The common case is handled inline: only stores are outstanding.
  if (communicator != nullptr) [[likely]] {
    mpixrma::Communicator const* const state = mpixrma::Communicator::find_known(*communicator);
    mpixrma::Target* const target = state != nullptr ? state->known_target(target_rank) : nullptr;
    if (target != nullptr && mpixrma::complete_stores(*target)) return MPI_SUCCESS;
  }
  return mpixrma::complete_slow_path(communicator, target_rank);
}

int MPIX_RMA_Fence(MPI_Comm* communicator, int target_rank) try {
  auto const one = [](mpixrma::Site const&, mpixrma::Target& target) {
    mpixrma::fence(target);
    return MPI_SUCCESS;
  };
  auto const all = [](mpixrma::Site const&, mpixrma::Communicator& state) {
    mpixrma::fence_all(state);
    return MPI_SUCCESS;
  };
  return mpixrma::for_targets("MPIX_RMA_Fence", communicator, target_rank, one, all);
} catch (...) {
  return mpixrma::raise_exception(communicator);
}
