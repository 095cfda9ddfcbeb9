/// A rank of a window as the target of operations. Created at its first use.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/op/exposure.hpp"
#include "engine/origin/exposed_view.hpp"
#include "engine/origin/outstanding_mark.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/sync/shared_lock.hpp"
#include "mpi-windows/state/queue.hpp"

namespace mpixrma::windows {

using engine::Lookup;

/// Whether operations on a target may be issued: from the first operation of an access epoch, or from the
/// lock call, to the end of the epoch. While the target's post or lock is missing, operations are queued.
enum class EpochAccess : std::uint8_t { closed, opening, queued, open };

/// The mode in which this process holds the lock of a target.
enum class Lock : std::uint8_t { none, unchecked, shared, exclusive };

/// The guard of memory that no process of the job has.
inline constinit engine::AccessGuard const no_guard;

struct StripedRegion;
class NamMemory;

struct Target {
  /// Number of bytes of the rank's memory that loads and stores may access now; 0 while operations may not be
  /// issued.
  std::atomic<std::uint64_t> accessible_bytes{0};
  /// The same while a trace is written: `accessible_bytes` is 0 then, so that every operation is recorded.
  std::atomic<std::uint64_t> traced_bytes{0};
  bool is_traced = false;  ///< a trace is written, and loads and stores can access the memory
  /// Displacement unit; 1 for a dynamic window.
  std::int64_t disp_unit = 1;
  int rank = -1;  ///< -1: none
  std::atomic<EpochAccess> access{EpochAccess::closed};
  /// The rank's memory if loads and stores can access it, else of length 0.
  engine::ExposedView view;
  engine::StripeTable* stripes = nullptr;  ///< stripes of the memory; null if they are not mapped
  /// The peer that has the rank's memory, to which all operations go; null for memory at a server that is
  /// mapped, striped, or accessed by requests.
  engine::Peer* memory_owner = nullptr;
  engine::AccessGuard const* guard = &no_guard;  ///< of `memory_owner`
  /// Marks of the operations that the window has issued to `memory_owner`, or to the parts of a striped
  /// region. Also set, without any operation, to make the next synchronisation report a failure.
  engine::OutstandingMark outstanding;

  engine::ExposureId exposure{};
  std::uint64_t offset = 0;         ///< offset in the exposure
  std::uint64_t size = 0;           ///< size in bytes
  engine::Peer* process = nullptr;  ///< peer of the rank, with its locks and counters
  std::byte* control = nullptr;     ///< the rank's control memory if mapped, else null
  engine::ExposureId control_exposure{};
  std::uint32_t lock_id = 0;
  std::uint64_t lock_requested_after = 0;  ///< as in HeldLocks::describe
  Lock lock = Lock::none;                  ///< mode; set by the thread that acquires or releases it
  std::uint64_t granted = 0;               ///< from note_granted() if the rank has granted a request; else 0
  bool in_group = false;                   ///< member of the current access epoch of MPI_Win_start
  std::uint8_t posts_seen = 0;
  std::atomic<bool> loss_reported{false};  ///< by a call that completes operations to all targets
  std::size_t open_index = 0;              ///< index among the open targets; the epoch's lock protects it
  /// The lock word if the lock is acquired and released by load and store, else null.
  engine::SharedLock* lock_word = nullptr;

  /// Notification counters of the rank, as received in round `counters_round` of the window.
  engine::RemoteAddress counters = 0;
  std::uint64_t counters_count = 0;
  std::uint64_t counters_round = 0;

  /// Memory at a server that is accessed by requests, and the rank there; else null.
  NamMemory const* by_request = nullptr;
  int requested_rank = 0;

  std::unique_ptr<StripedRegion const> striped_region;  ///< memory of several processes; else null
  std::unique_ptr<TargetQueue> queue;                   ///< null until a post or a lock was missing

  /// Acquire: pairs with the release in open().
  bool is_open() const noexcept { return access.load(std::memory_order_acquire) == EpochAccess::open; }
  /// Whether the process that has the memory has ended, or is out of reach. Loads and stores of mapped memory
  /// still succeed.
  bool is_lost() const noexcept { return guard->is_at_maximum(); }
  /// Whether no post or completion of the rank's process arrives any more, because the process has ended, or
  /// is out of reach.
  bool process_is_lost() const noexcept { return process != nullptr && process->is_silent(); }
  bool is_queued() const noexcept { return access.load(std::memory_order_acquire) == EpochAccess::queued; }

  /// Permits operations.
  void open() noexcept {
    // Release for both stores: they pair with the acquires in translate() and TargetTable::find_open();
    // operations follow the stores that opened the epoch.
    bool const all = engine::includes(view.exposure.rights, engine::Rights::all);
    (is_traced ? traced_bytes : accessible_bytes)
        .store(all ? view.exposure.length : 0, std::memory_order_release);
    access.store(EpochAccess::open, std::memory_order_release);
  }
  void close() noexcept {
    accessible_bytes.store(0, std::memory_order_relaxed);
    traced_bytes.store(0, std::memory_order_relaxed);
    access.store(EpochAccess::closed, std::memory_order_relaxed);
  }

  /// Returns a local pointer to the `bytes` bytes at the displacement, and their offset in the rank's memory.
  /// Returns nullptr if loads and stores cannot access them, or if no operation may be issued now.
  template <Lookup lookup = Lookup::usual>
  std::byte* translate(MPI_Aint disp, std::size_t bytes, std::uint64_t* distance) const noexcept {
    std::int64_t signed_distance = 0;
    if (__builtin_mul_overflow(disp, disp_unit, &signed_distance)) return nullptr;
    *distance = static_cast<std::uint64_t>(signed_distance);
    // Acquire: pairs with the release in open().
    std::uint64_t const length =
        (lookup == Lookup::traced ? traced_bytes : accessible_bytes).load(std::memory_order_acquire);
    if (*distance >= length || bytes > length - *distance) return nullptr;
    return view.is_gone() ? nullptr : view.local + *distance;
  }
  engine::RemoteAddress address_of(std::uint64_t distance) const noexcept {
    return view.exposure.base + distance;
  }
};

/// Memory of a target that is striped over several processes: its chunks are assigned to the parts
/// cyclically, and are contiguous in each part.
struct StripedRegion {
  std::uint64_t chunk_bytes = 0;
  std::vector<std::unique_ptr<Target>> parts;  ///< never opened
};

/// Calls `visit` with the target or, for a striped region, with each part.
template <typename Visitor>
void for_each_part(Target& target, Visitor visit) {
  if (target.striped_region == nullptr) return visit(target);
  for (auto const& part : target.striped_region->parts) visit(*part);
}

/// Calls `visit(part, sequence)` for the target or, for a striped region, for each part, if operations up to
/// `sequence` are outstanding at a peer.
template <typename Visitor>
void for_each_outstanding(Target& target, Visitor visit) {
  for_each_part(target, [&](Target& part) {
    std::uint64_t const sequence = part.memory_owner != nullptr ? part.outstanding.get() : 0;
    if (sequence != 0) visit(part, sequence);
  });
}

}  // namespace mpixrma::windows
