/// The state of a window: its processes, their memory, and its open epochs.
///
/// All flavours work the same way: memory is exposed to other processes, which refer to it by exposure and
/// offset; memory of dynamic windows is referred to by its address.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/base/liveness.hpp"
#include "engine/op/aggregate_completion.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/sync/held_locks.hpp"
#include "mpi-windows/nam/lock_wait.hpp"
#include "mpi-windows/nam/window.hpp"
#include "mpi-windows/state/cold_state.hpp"
#include "mpi-windows/state/control.hpp"
#include "mpi-windows/state/epoch.hpp"
#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/hints.hpp"
#include "mpi-windows/state/mpix_windows.h"
#include "mpi-windows/state/notification_counters.hpp"
#include "mpi-windows/state/own_memory.hpp"
#include "mpi-windows/state/processes.hpp"
#include "mpi-windows/state/rank_table.hpp"
#include "mpi-windows/state/recent_type.hpp"
#include "mpi-windows/state/store_fence.hpp"
#include "mpi-windows/state/target.hpp"
#include "mpi-windows/state/target_table.hpp"

struct mpix_window {};

namespace mpixrma::windows {

/// The functions on a window are in the folders of their subjects: `creation/`, `epochs/`, `operations/`.
/// Each uses the parts that it needs.
struct Window : mpix_window {
  /// `host_window`: the MPI host's handle.
  Window(engine::Engine& process_engine, MPI_Comm comm, Hints const& given, void* host_window);
  ~Window();
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;

  /// As osc_mpix_verbose.
  static int verbose;
  /// The locks that windows of this process hold.
  static engine::HeldLocks held_locks;

  /// The number of the window in log messages.
  unsigned number() const noexcept { return context & INT32_MAX; }
  bool is_dynamic() const noexcept { return memory.flavor == MPI_WIN_FLAVOR_DYNAMIC; }
  /// Records that an operation on the target takes the general path, which may use stores.
  void note_use(Target& target) noexcept {
    stores.note();
    targets.note_recent(target);
  }

  // Read by each operation.
  TargetTable targets;
  RecentType recent_type;
  StoreFence stores;
  AccessEpoch epoch;
  pid_t const pid = engine::own_process_id();

  engine::Engine& engine;
  void* const handle;  ///< of the MPI host
  Hints hints;
  std::uint32_t const context;  ///< identifies the window in the engine's late errors
  Processes processes;

  ExposureEpoch exposure_epoch;
  ControlMemory control;
  std::atomic<std::size_t> aggregate_requests{0};  ///< number of incomplete aggregate requests
  NotificationCounters counters;

  std::unique_ptr<NamWindow> nam;  ///< set if a memory server has the memory
  RankTable table;
  OwnMemory memory;
  OwnLock own_lock;
  std::mutex creation;  ///< protects creation of targets, and the attached memory
  std::unique_ptr<ColdState> const cold;
};
static_assert(sizeof(Window) <= 1032);  // the largest block that glibc's malloc caches

}  // namespace mpixrma::windows
