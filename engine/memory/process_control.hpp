/// The memory of a process that other processes of its host may write, in one shared file: locks, and its
/// ring.
#pragma once

#include "engine/net/ring.hpp"
#include "engine/sync/lock_clock.hpp"
#include "engine/sync/shared_lock.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

struct ProcessControl {
  StripeTable stripes;
  SharedLocks shared;
  LockClock lock_clock;
  Ring ring;
};

}  // namespace mpixrma::engine
