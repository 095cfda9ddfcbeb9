#include "mpi-windows/creation/creation.hpp"

#include <algorithm>

#include "hosts/common/hosted.h"
#include "mpi-windows/creation/own_memory.hpp"
#include "mpi-windows/creation/rank_exchange.hpp"
#include "mpi-windows/creation/served_window.hpp"
#include "mpi-windows/epochs/access.hpp"
#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/flush.hpp"
#include "mpi-windows/epochs/signals.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/targets.hpp"
#include "mpi-windows/state/unreported_failures.hpp"

namespace mpixrma::windows {

namespace {

/// Checks that all memory of the window has the same kind.
int check_kinds(Window const& window) {
  auto const differs = [kind = window.table[0].kind](RankEntry const& entry) { return entry.kind != kind; };
  if (std::ranges::none_of(window.table, differs)) return MPI_SUCCESS;
  return refuse(MPI_ERR_INFO_VALUE, "deep_mem_kind is not the same at all processes");
}

/// Returns MPI_SUCCESS at all processes if `error` is MPI_SUCCESS at all and every process maps the control
/// memory of rank 0; otherwise the same error class at all processes.
int agree_on_sharing(Window& window, MPI_Comm comm, int error) {
  auto const map_control = [&window] {
    Target* const first = find_target(window, 0);
    return first != nullptr && first->control != nullptr ? MPI_SUCCESS : MPI_ERR_RMA_SHARED;
  };
  if (error == MPI_SUCCESS) error = result_or_class(map_control);
  int worst = error;
  PMPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MAX, comm);
  if (worst == MPI_ERR_NO_MEM && newest_refusal().text.empty())
    return refuse(worst, "a process lacks memory, address space or descriptors for the window's memory");
  return worst;
}

}  // namespace

int open_window(Window& window, MPI_Comm comm, mpix_window_memory& memory) {
  window.memory.flavor = memory.flavor;
  RankEntry mine;
  if (window.memory.flavor == MPI_WIN_FLAVOR_ALLOCATE) mine.kind = window.hints.memory_kind();
  mine.process = window.engine.process();
  mine.host = number_of(window.engine.host());
  mine.owner = window.processes.rank;
  mine.size = window.is_dynamic() ? 0 : static_cast<std::uint64_t>(memory.size);
  mine.disp_unit = memory.disp_unit;
  int made = result_or_class([&] { return make_control(window, mine); });
  if (made == MPI_SUCCESS) made = result_or_class([&] { return make_memory(window, comm, memory, mine); });
  if (made == MPI_SUCCESS && mine.kind == MemoryKind::unknown)
    made = refuse(MPI_ERR_INFO_VALUE, "deep_mem_kind must be deep_nam or deep_nam_persistent");
  mine.error_class = static_cast<std::int16_t>(made);
  int worst = gather(window, comm, mine);
  if (made == MPI_SUCCESS && worst == MPI_ERR_INFO_VALUE)
    worst = refuse(worst, "deep_mem_kind must be deep_nam or deep_nam_persistent at all processes");
  if (worst == MPI_SUCCESS) worst = check_kinds(window);
  if (worst == MPI_SUCCESS && mine.kind != MemoryKind::host) worst = allocate_at_server(window, comm);
  if (worst == MPI_SUCCESS && window.memory.flavor == MPI_WIN_FLAVOR_SHARED) {
    auto const share = [&] { return allocate_for_all(window, comm, memory); };
    worst =
        agree_on_sharing(window, comm, shares_one_allocation(window) ? result_or_class(share) : MPI_SUCCESS);
  }
  if (worst == MPI_SUCCESS) share_rank_table(window);
  return worst;
}

int close_window(Window& window, bool* closed) {
  *closed = false;
  {
    std::lock_guard const guard(window.epoch.lock);
    if (window.exposure_epoch.is_open || !window.epoch.permits_fence()) return MPI_ERR_RMA_SYNC;
  }
  int error = complete_opened(window);
  error = first_of(error, complete_all(window));
  wait_for_aggregate_requests(window);
  (void)mpix_host_operations()->deliver_completions();  // first, to report failures of freed requests too
  end_reporting(window.context);
  error = first_of(error, take_failures(window));
  if (window.table.is_shared()) find_successors(window);
  int const lost = synchronise(window);  // afterwards no operation on the window is in flight
  // Processes that are out of reach may not have called yet, and read the table.
  if (lost != MPI_SUCCESS) window.memory.published_rank_table = nullptr;
  error = first_of(error, lost);
  forget_executed(window);
  if (window.processes.rank == 0 && window.nam != nullptr && window.nam->port().empty()) release_nam(window);
  *closed = true;
  return error;
}

}  // namespace mpixrma::windows
