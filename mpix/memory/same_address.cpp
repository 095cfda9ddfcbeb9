#include "mpix/memory/same_address.hpp"

#include <algorithm>
#include <cstdint>

#include "engine/memory/segment_sizes.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

namespace {

/// Each round excludes memory that some process uses. More rounds are needed only if many processes have
/// mapped much of the range.
constexpr int max_rounds = 256;

}  // namespace

/// In each round, every process proposes its first unused range from the highest proposal of the previous
/// round on, until all proposals are equal.
engine::RemoteAddress agree_on_address(MPI_Comm comm, MemoryNeed const& need) {
  std::uint64_t most[2] = {std::max<std::size_t>(need.bytes, 1),
                           std::max(need.alignment, engine::huge_page_bytes)};
  PMPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, comm);
  engine::RemoteAddress from = 0;
  for (int round = 0; round < max_rounds; ++round) {
    engine::RemoteAddress const mine = engine_of_process().memory.unused_addresses(from, most[0], most[1]);
    // The second maximum is the complement of the lowest address.
    std::uint64_t ends[2] = {mine, ~mine};
    PMPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UINT64_T, MPI_MAX, comm);
    bool const some_has_none = ~ends[1] == 0;
    if (some_has_none || ends[0] == ~ends[1]) return some_has_none ? 0 : ends[0];
    from = ends[0];
  }
  return 0;
}

}  // namespace mpixrma
