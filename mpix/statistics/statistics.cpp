/// MPIX_RMA_Statistics.
#include <array>
#include <cstdint>
#include <numeric>

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

#define MPIX_PROTOCOL(name, NAME, number, means) static_assert(MPIX_RMA_PROTOCOL_##NAME == (number) + 1);
MPIX_ENGINE_PROTOCOLS(MPIX_PROTOCOL)
#undef MPIX_PROTOCOL

bool is_protocol(MPIX_RMA_Protocol protocol) {
  return protocol >= MPIX_RMA_PROTOCOL_ALL && static_cast<std::size_t>(protocol) <= engine::protocol_count;
}

MPI_Count count_of(std::array<std::uint64_t, engine::protocol_count> const& counts,
                   MPIX_RMA_Protocol protocol) {
  auto const count = protocol == MPIX_RMA_PROTOCOL_ALL
                         ? std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})
                         : counts[static_cast<std::size_t>(protocol) - 1];
  return static_cast<MPI_Count>(count);
}

bool is_counted(MPIX_RMA_Protocol protocol) {
  bool const direct = protocol == MPIX_RMA_PROTOCOL_DIRECT || protocol == MPIX_RMA_PROTOCOL_ALL;
  return !direct || engine_of_process().counts_direct();
}

/// Reads a counter. Returns false if there is no such counter.
bool read(engine::Traffic const& traffic, MPIX_RMA_Statistic which, MPIX_RMA_Protocol protocol,
          MPI_Count* value) {
  switch (which) {
    case MPIX_RMA_STATISTIC_OPERATIONS: *value = count_of(traffic.operations, protocol); return true;
    case MPIX_RMA_STATISTIC_BYTES: *value = count_of(traffic.bytes, protocol); return true;
    case MPIX_RMA_STATISTIC_MESSAGES_SENT:
      *value = static_cast<MPI_Count>(traffic.messages_sent);
      return true;
    case MPIX_RMA_STATISTIC_MESSAGES_EXECUTED:
      *value = static_cast<MPI_Count>(traffic.messages_executed);
      return true;
    case MPIX_RMA_STATISTIC_COUNTED: *value = is_counted(protocol) ? 1 : 0; return true;
  }
  return false;
}

/// Whether a counter has a value for each protocol.
bool is_by_protocol(MPIX_RMA_Statistic which) {
  return which != MPIX_RMA_STATISTIC_MESSAGES_SENT && which != MPIX_RMA_STATISTIC_MESSAGES_EXECUTED;
}

engine::Traffic traffic_to(Communicator const& communicator, int target_rank) {
  engine::Traffic traffic;
  auto const number = word_of(communicator.handle());
  if (target_rank == MPIX_ALL_RANKS) {
    for (int rank = 0; rank < communicator.size(); ++rank) traffic += traffic_with(number, rank);
  } else if (target_rank != MPI_PROC_NULL) {
    traffic = traffic_with(number, target_rank);
  }
  return traffic;
}

}  // namespace

}  // namespace mpixrma

int MPIX_RMA_Statistics(MPI_Comm communicator, int target_rank, MPIX_RMA_Statistic which,
                        MPIX_RMA_Protocol protocol, MPI_Count* value) try {
  using namespace mpixrma;
  char const* const call = "MPIX_RMA_Statistics";
  Communicator const* const state = Communicator::find(communicator);
  if (state == nullptr) return raise_unusable(call, &communicator);
  Site const site{call, state->handle()};
  bool const named = target_rank >= 0 && target_rank < state->size();
  if (!named && target_rank != MPIX_ALL_RANKS && target_rank != MPI_PROC_NULL)
    return raise_rank(site, target_rank, state->size());
  if (value == nullptr) return raise(site, MPI_ERR_ARG, "value is a null pointer");
  if (is_by_protocol(which) && !is_protocol(protocol))
    return raise(site, MPI_ERR_ARG, "%d is not a protocol", static_cast<int>(protocol));
  if (!read(traffic_to(*state, target_rank), which, protocol, value))
    return raise(site, MPI_ERR_ARG, "%d is not a counter", static_cast<int>(which));
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator, "MPIX_RMA_Statistics");
}
