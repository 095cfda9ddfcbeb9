/// What a process lets the others of its host write, in one file of shared memory: locks, and its mailbox.
#pragma once

#include "engine/net/mailbox.hpp"
#include "engine/sync/lock_clock.hpp"
#include "engine/sync/shared_lock.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

struct ProcessControl {
  StripeTable stripes;
  SharedLocks shared;
  LockClock lock_clock;
  Mailbox mailbox;
};

}  // namespace mpixrma::engine
