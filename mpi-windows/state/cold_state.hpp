/// The state of a window that few calls use. It is allocated apart from the window, because glibc's malloc
/// caches freed blocks up to about a kilobyte only, and a larger block costs thousands of instructions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "engine/sync/held_locks.hpp"
#include "mpi-windows/nam/lock_wait.hpp"

namespace mpixrma::windows {

struct ColdState {
  ColdState(engine::HeldLocks& all, engine::Holder const& holder, std::function<bool()> may_hold)
      : held(all, holder, std::move(may_hold)) {}

  engine::HeldLocks::Group held;
  /// Error code of the first failure of a freed request that no call has reported; 0 if there is none.
  std::atomic<int> freed_failure{0};
  NamOvertakeDelay nam_overtake_delay;
  std::map<std::uintptr_t, std::size_t> attached;  ///< by base
  std::multiset<std::uintptr_t> attached_empty;    ///< bases of size 0
};

}  // namespace mpixrma::windows
