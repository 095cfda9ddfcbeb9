/// All locks that a process shows to those on its host, in one file of shared memory.
#pragma once

#include "engine/atomic/shared_lock.hpp"
#include "engine/atomic/stripes.hpp"

namespace mpix::engine {

struct ProcessLocks {
  StripeTable stripes;
  SharedLocks shared;
};

}  // namespace mpix::engine
