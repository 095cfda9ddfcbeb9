#include "armci/modes.hpp"

#include <mutex>

#include "armci/groups.hpp"
#include "armci/state.hpp"
#include "include/armci/armcix.h"
#include "include/mpix_rma/profiling.h"
#include "mpix/comm/collective.hpp"

namespace armci {

AccessModes modes;

namespace {

/// The arguments of one process for an allocation.
struct Part {
  int process;
  int mode;  ///< 0: the mode is invalid
  mpixrma::RemoteAddress base;
  std::uint64_t bytes;
};

bool is_known(int mode) noexcept {
  constexpr int known = ARMCIX_MODE_ALL | ARMCIX_MODE_CONFLICT_FREE | ARMCIX_MODE_NO_LOAD_STORE;
  return mode != 0 && (mode & ~known) == 0;
}

Part part_of(int mode, void* base, bool allocated) {
  Part part{world.rank, is_known(mode) ? mode : 0, reinterpret_cast<mpixrma::RemoteAddress>(base), 0};
  if (base == nullptr) return part;
  int found = 0;
  MPI_Aint bytes = 0;
  MPI_Comm comm = world.comm;
  bool const segment = PMPIX_RMA_Query(comm, world.rank, base, &found, nullptr, &bytes) == MPI_SUCCESS;
  if (!segment || found == 0 || !allocated) part.mode = 0;
  part.bytes = static_cast<std::uint64_t>(bytes);
  return part;
}

}  // namespace

void AccessModes::set(int mode, void* base, bool allocated, MPI_Comm comm) {
  char const* const call = "ARMCIX_Mode_set";
  // Operations that were issued under the previous mode must complete first.
  mpixrma::LateFailure late;
  (void)mpixrma::complete_all(*running_world(call).communicator, &late);
  Part const mine = part_of(mode, base, allocated);
  auto const parts = mpixrma::exchange(comm, mine, mpixrma::size_of(comm));
  if (!is_known(mode)) fail(call, "mode %d is unknown", mode);
  if (mine.mode == 0) fail(call, "%p is not the base of an allocation of this group", base);
  for (Part const& part : parts) {
    if (part.mode != mode) fail(call, "process %d passed different or invalid arguments", part.process);
  }
  {
    std::lock_guard const held(lock_);
    groups_.insert(members_of(comm));
    for (Part const& part : parts) {
      if (part.bytes == 0) continue;
      Start const start{part.process, part.base};
      if ((mode & ARMCIX_MODE_ALL) != 0) {
        ranges_.erase(start);
      } else {
        ranges_[start] = {part.base + part.bytes, mode};
      }
    }
    any_.store(!ranges_.empty(), std::memory_order_release);  // read by all_default()
  }
  // The mode is set also where an operation has failed, because forget() is collective at the processes whose
  // `groups_` has the group.
  check_late_failure(call, late);
}

int AccessModes::get(int process, mpixrma::RemoteAddress begin, mpixrma::RemoteAddress end) const {
  std::shared_lock const held(lock_);
  auto const after = ranges_.upper_bound({process, begin});
  if (after == ranges_.begin()) return ARMCIX_MODE_ALL;
  auto const& [start, range] = *std::prev(after);
  return start.first == process && end <= range.end ? range.mode : ARMCIX_MODE_ALL;
}

bool AccessModes::had_mode(MPI_Comm comm) const {
  std::shared_lock const held(lock_);
  return !groups_.empty() && groups_.contains(members_of(comm));
}

void AccessModes::forget(void* base, MPI_Comm comm) {
  // Not by a test at each process alone: another thread may be in set() for another group of these processes.
  if (!mpixrma::agree(comm, had_mode(comm) ? 1 : 0)) return;
  Start const mine{world.rank, reinterpret_cast<mpixrma::RemoteAddress>(base)};
  auto const freed = mpixrma::exchange(comm, mine, mpixrma::size_of(comm));
  std::lock_guard const held(lock_);
  for (Start const& start : freed) ranges_.erase(start);
  any_.store(!ranges_.empty(), std::memory_order_release);  // read by all_default()
}

void AccessModes::clear() {
  std::lock_guard const held(lock_);
  ranges_.clear();
  groups_.clear();
  any_.store(false, std::memory_order_release);  // read by all_default()
}

}  // namespace armci
