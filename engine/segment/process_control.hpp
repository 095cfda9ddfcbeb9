/// What a process lets the others of its host write, in one file of shared memory: locks, and its mailbox.
#pragma once

#include "engine/atomic/lock_clock.hpp"
#include "engine/atomic/shared_lock.hpp"
#include "engine/atomic/stripes.hpp"
#include "engine/segment/mailbox.hpp"

namespace mpix::engine {

struct ProcessControl {
  StripeTable stripes;
  SharedLocks shared;
  LockClock lock_clock;
  Mailbox mailbox;
};

}  // namespace mpix::engine
