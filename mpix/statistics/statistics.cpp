/// MPIX_RMA_Statistics.
#include <algorithm>

#include "datatype/handle.hpp"
#include "hosts/common/statistics_table.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"

MPIX_PROFILED(MPIX_RMA_Statistics)

namespace mpixrma {

namespace {

static_assert(MPIX_RMA_PATHS == engine::path_count);
static_assert(MPIX_RMA_PATH_DIRECT == static_cast<int>(engine::Path::direct) &&
              MPIX_RMA_PATH_CROSS_MEMORY == static_cast<int>(engine::Path::cross_memory) &&
              MPIX_RMA_PATH_NETWORK == static_cast<int>(engine::Path::network) &&
              MPIX_RMA_PATH_RING == static_cast<int>(engine::Path::ring) &&
              MPIX_RMA_PATH_MESSAGE == static_cast<int>(engine::Path::message));

MPIX_RMA_Path_statistics shown(engine::Traffic const& traffic) {
  MPIX_RMA_Path_statistics statistics{};
  std::ranges::copy(traffic.operations, statistics.operations);
  std::ranges::copy(traffic.bytes, statistics.bytes);
  statistics.messages_sent = static_cast<MPI_Count>(traffic.messages_sent);
  statistics.messages_executed = static_cast<MPI_Count>(traffic.messages_executed);
  statistics.direct_counted = engine_of_process().counts_direct() ? 1 : 0;
  return statistics;
}

}  // namespace

}  // namespace mpixrma

int MPIX_RMA_Statistics(MPI_Comm communicator, int target_rank, MPIX_RMA_Path_statistics* statistics) try {
  using namespace mpixrma;
  char const* const call = "MPIX_RMA_Statistics";
  Communicator const* const state = Communicator::find(communicator);
  if (state == nullptr) return raise_unusable(call, &communicator);
  Site const site{call, state->handle()};
  bool const named = target_rank >= 0 && target_rank < state->size();
  if (!named && target_rank != MPIX_ALL_RANKS && target_rank != MPI_PROC_NULL)
    return raise_rank(site, target_rank, state->size());
  if (statistics == nullptr) return raise(site, MPI_ERR_ARG, "statistics is null");
  engine::Traffic traffic;
  if (target_rank == MPIX_ALL_RANKS) {
    for (int rank = 0; rank < state->size(); ++rank)
      traffic += traffic_with(number_of(state->handle()), rank);
  } else if (named) {
    traffic = traffic_with(number_of(state->handle()), target_rank);
  }
  *statistics = shown(traffic);
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator, "MPIX_RMA_Statistics");
}
