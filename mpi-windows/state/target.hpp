/// A rank of a window as the target of operations. Made at its first use.
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

namespace mpixrma::windows {

/// Whether operations may be issued: from the first one of an access epoch, or a lock, to its end.
enum class Access : std::uint8_t { closed, opening, open };

/// What this process holds of the lock of a target.
enum class Lock : std::uint8_t { none, unchecked, shared, exclusive };

struct DividedMemory;
class NamMemory;

struct Target {
  /// Bytes of its memory that loads and stores reach now: none while operations may not be issued.
  std::atomic<std::uint64_t> reachable{0};
  /// By displacement; of a dynamic window 1.
  std::int64_t disp_unit = 1;
  int rank = -1;  ///< -1: of none
  std::atomic<Access> access{Access::closed};
  /// Its memory, where loads and stores reach it; else of length 0.
  engine::ExposedView view;
  engine::StripeTable* stripes = nullptr;  ///< of that memory; null where it cannot be reached so
  /// The process that has the memory, to which all operations go; null of memory at a server that is mapped,
  /// divided, or used by requests.
  engine::Peer* memory = nullptr;
  /// What the window has issued to `memory`, or to the parts of divided memory.
  engine::OutstandingMark outstanding;

  engine::ExposureId exposure{};
  std::uint64_t offset = 0;         ///< in the exposure
  std::uint64_t size = 0;           ///< bytes
  engine::Peer* process = nullptr;  ///< of the rank: its locks and its counters
  std::byte* control = nullptr;     ///< its control memory where it is mapped, else null
  engine::ExposureId control_name{};
  std::uint32_t lock_id = 0;
  std::uint64_t lock_asked_after = 0;  ///< as of HeldLocks::describe
  Lock lock = Lock::none;              ///< under the window's lock, as the rest
  std::uint64_t granted = 0;  ///< the grant of the rank's agent by which the lock is held; 0: by none
  bool in_group = false;      ///< of the present access epoch, begun by MPI_Win_start
  std::uint8_t posts_seen = 0;
  std::size_t place = 0;  ///< among the open targets
  /// The lock where it is taken and given back by load and store, else null.
  engine::SharedLock* lock_word = nullptr;

  /// Notification counters of the rank, as they were told in round `counters_round` of the window.
  engine::RemoteAddress counters = 0;
  std::uint64_t counters_count = 0;
  std::uint64_t counters_round = 0;

  /// Memory at a server that each operation is a request to, and the rank there; else null.
  NamMemory const* by_request = nullptr;
  int requested_rank = 0;

  std::unique_ptr<DividedMemory const> divided;  ///< of memory that several processes have; else null

  /// From here on operations may be issued.
  void open() noexcept {
    // Release, twice: pair with the acquires in reach() and Window::open_target(); operations come after what
    // opened the epoch.
    bool const all = engine::includes(view.exposure.rights, engine::Rights::all);
    reachable.store(all ? view.exposure.length : 0, std::memory_order_release);
    access.store(Access::open, std::memory_order_release);
  }
  void close() noexcept {
    reachable.store(0, std::memory_order_relaxed);
    access.store(Access::closed, std::memory_order_relaxed);
  }

  /// Local pointer to the `bytes` bytes at the displacement, and how far that is into the rank's memory.
  /// nullptr: loads and stores do not reach them, or no operation may be issued now.
  std::byte* reach(MPI_Aint disp, std::size_t bytes, std::uint64_t* distance) const noexcept {
    std::int64_t signed_distance = 0;
    if (__builtin_mul_overflow(disp, disp_unit, &signed_distance)) return nullptr;
    *distance = static_cast<std::uint64_t>(signed_distance);
    // Acquire: pairs with the release in open().
    std::uint64_t const length = reachable.load(std::memory_order_acquire);
    if (*distance >= length || bytes > length - *distance) return nullptr;
    return view.is_gone() ? nullptr : view.local + *distance;
  }
  engine::RemoteAddress address_of(std::uint64_t distance) const noexcept {
    return view.exposure.base + distance;
  }
};

/// Memory of a target in stripes, which go to the parts in turn and follow each other there.
struct DividedMemory {
  std::uint64_t stripe_bytes = 0;
  std::vector<std::unique_ptr<Target>> parts;  ///< which are opened by nobody
};

/// Calls `visit` with each of whoever has memory of the target.
template <typename Visitor>
void for_each_part(Target& target, Visitor visit) {
  if (target.divided == nullptr) return visit(target);
  for (auto const& part : target.divided->parts) visit(*part);
}

}  // namespace mpixrma::windows
