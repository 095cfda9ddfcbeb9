#include "mpi-windows/creation/rank_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "mpi-windows/state/control.hpp"
#include "mpi-windows/state/targets.hpp"

namespace mpixrma::windows {

namespace {

/// From this number of ranks on, compact representations of the rank table pay off.
constexpr int min_ranks_for_pattern = 16;

/// Changes the ids of this process's exposures to the first ones that are unused at all processes.
/// Collective: returns false at all processes if one fails.
bool agree_exposure_ids(Window& window, MPI_Comm comm, engine::UnusedExposureIds unused, RankEntry& mine) {
  int agreed = 1;
  for (engine::ExposureId* const id : {&mine.control, &mine.exposure}) {
    if (*id == engine::ExposureId::none) continue;
    unused.generation += 2;
    bool const exists = unused.slot < 1u << engine::exposure_slot_bits;
    engine::ExposureId const wanted = engine::make_exposure_id(unused.slot++, unused.generation);
    if (!exists || engine::failed(window.engine.exposures.change_id(*id, wanted)))
      agreed = 0;
    else
      *id = wanted;
  }
  window.memory.exposure = mine.exposure;
  // No process may use the ids before all processes have set them.
  PMPI_Allreduce(MPI_IN_PLACE, &agreed, 1, MPI_INT, MPI_MIN, comm);
  return agreed != 0;
}

int worst_of(auto const& table) {
  int worst = MPI_SUCCESS;
  for (RankEntry const& entry : table) worst = std::max<int>(worst, entry.error_class);
  return worst;
}

void publish_rank_table(Window& window) {
  void* base = nullptr;
  bool const allocated = !engine::failed(window.engine.memory.allocate_internal(window.table.bytes(), &base));
  if (allocated) {
    std::memcpy(base, window.table.data(), window.table.bytes());
    window.table.refer_to(static_cast<RankEntry const*>(base));
    window.memory.published_rank_table = base;
  }
  auto const address = allocated ? reinterpret_cast<std::uint64_t>(base) : ControlLayout::no_table;
  window.control.counter(window.control.layout.table()).store(address, std::memory_order_release);
}

}  // namespace

int gather(Window& window, MPI_Comm comm, RankEntry& mine) {
  auto const reserve = [&] { return window.table.reserve(window.processes.size), MPI_SUCCESS; };
  if (int const error = result_or_class(reserve); error != MPI_SUCCESS) return gather_failure(comm, error);
  if (window.processes.size >= min_ranks_for_pattern) {
    Comparison found =
        compare(comm, window.processes.rank, mine, window.engine.exposures.unused_exposure_ids());
    if (found.error_class != MPI_SUCCESS) return found.error_class;
    if (found.is_pattern && (found.same_ids || agree_exposure_ids(window, comm, found.unused, mine))) {
      found.pattern.first.control = mine.control;
      found.pattern.first.exposure = mine.exposure;
      window.table.use_pattern(window.processes.size, found.pattern);
      return MPI_SUCCESS;
    }
  }
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, window.table.open(window.processes.size), sizeof mine,
                 MPI_BYTE, comm);
  return worst_of(window.table);
}

int gather_failure(MPI_Comm comm, int error_class) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  RankEntry mine;
  mine.error_class = static_cast<std::int16_t>(error_class);
  if (size >= min_ranks_for_pattern) return compare(comm, rank, mine, {}).error_class;
  std::array<RankEntry, min_ranks_for_pattern> entries;  // on the stack, because memory is missing
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, entries.data(), sizeof mine, MPI_BYTE, comm);
  return worst_of(std::span(entries).first(static_cast<std::size_t>(size)));
}

void share_rank_table(Window& window) {
  if (!window.table.has_entries() || window.processes.size < min_ranks_for_pattern) return;
  auto const here = [host = number_of(window.engine.host())](RankEntry const& entry) {
    return entry.host == host;
  };
  RankEntry const* const entries = window.table.data();
  auto const keeper =
      static_cast<int>(std::find_if(entries, entries + window.processes.size, here) - entries);
  if (keeper == window.processes.rank) return publish_rank_table(window);
  Target* const first = find_target(window, keeper);
  if (first == nullptr || first->control == nullptr) return;
  auto const& published = *reinterpret_cast<Counter const*>(first->control + window.control.layout.table());
  std::uint64_t address = 0;
  // Acquire: pairs with the release in publish_rank_table(), for the entries.
  window.engine.waits.until([&] { return (address = published.load(std::memory_order_acquire)) != 0; });
  if (address == ControlLayout::no_table) return;
  if (std::byte* const there = window.engine.peer_memory.map(*first->process, address, window.table.bytes()))
    window.table.share(reinterpret_cast<RankEntry const*>(there));
}

}  // namespace mpixrma::windows
