#include "mpi-windows/state/window.hpp"

#include <bit>
#include <cstring>

#include "datatype/datatype.hpp"
#include "engine/base/log.hpp"
#include "hosts/common/hosted.hpp"
#include "mpi-windows/state/targets.hpp"
#include "mpi-windows/state/unreported_failures.hpp"

namespace mpixrma::windows {

namespace {

/// The highest bit distinguishes context numbers of windows from those of communicators.
std::uint32_t next_context() noexcept {
  static std::atomic<std::uint32_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed) | std::uint32_t{1} << 31;
}

void release_own_memory(Window& window) {
  for (auto const& [base, bytes] : window.cold->attached)
    (void)window.engine.memory.detach(reinterpret_cast<void*>(base), bytes);
  window.cold->attached.clear();
  if (window.memory.exposure != engine::ExposureId::none)
    (void)window.engine.exposures.withdraw(window.memory.exposure);
  if (window.memory.allocated != nullptr) (void)window.engine.memory.free(window.memory.allocated);
  if (window.memory.published_rank_table != nullptr)
    (void)window.engine.memory.free(window.memory.published_rank_table);
}

}  // namespace

Window::Window(engine::Engine& process_engine, MPI_Comm comm, Hints const& given, void* host_window)
    : stores(mpix_host_operations()->is_thread_multiple() != 0),
      epoch(stores.is_thread_multiple()),
      engine(process_engine),
      handle(host_window),
      hints(given),
      context(next_context()),
      own_lock{.holder = process_engine.locks.own_holder(lock_owner)},
      cold(std::make_unique<ColdState>(held_locks, own_lock.holder, [this] { return epoch.is_passive(); })) {
  PMPI_Comm_rank(comm, &processes.rank);
  PMPI_Comm_size(comm, &processes.size);
  control.layout = ControlLayout{processes.size};
  targets.open(processes.size);
  begin_reporting(*this);  // after all else that may find no memory, because the destructor does not run then
  PMPI_Comm_group(comm, &processes.group);
}

int Window::verbose = 0;
engine::HeldLocks Window::held_locks;

Window::~Window() {
  end_reporting(context);
  cold->held.forget();
  release_own_memory(*this);
  counters.release(engine);
  if (control.base != nullptr) (void)engine.memory.free(control.base);
  if (own_lock.exists) (void)engine.locks.destroy(own_lock.id, /*count=*/1);
  targets.for_each([this](Target& target) {
    release_peers(engine, target);
    delete &target;
  });
  int finalized = 0;  // MPI_Finalize deletes windows that were not freed; MPI calls are not permitted then
  PMPI_Finalized(&finalized);
  if (finalized == 0) PMPI_Group_free(&processes.group);
  if (finalized == 0 && processes.is_connected()) PMPI_Comm_free(&processes.connected_comm);
}

}  // namespace mpixrma::windows
