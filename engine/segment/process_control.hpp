/// What a process lets the others of its host write, in one file of shared memory: its locks.
#pragma once

#include "engine/atomic/shared_lock.hpp"
#include "engine/atomic/stripes.hpp"

namespace mpix::engine {

struct ProcessControl {
  StripeTable stripes;
  SharedLocks shared;
};

}  // namespace mpix::engine
