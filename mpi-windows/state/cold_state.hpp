/// The state of a window that few calls use. It is allocated apart from the window, because glibc's malloc
/// caches freed blocks up to about a kilobyte only, and a larger block costs thousands of instructions.
#pragma once

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
  NamOvertakeDelay nam_overtake_delay;
  std::map<std::uintptr_t, std::size_t> attached;  ///< by base
  std::multiset<std::uintptr_t> attached_empty;    ///< bases of size 0
};

}  // namespace mpixrma::windows
