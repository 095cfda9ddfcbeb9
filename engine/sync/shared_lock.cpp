#include "engine/sync/shared_lock.hpp"

#include <sched.h>

#include "engine/base/backoff.hpp"
#include "engine/base/coarse_clock.hpp"
#include "engine/base/liveness.hpp"

namespace mpixrma::engine {

bool may_be_orphaned(SharedLock& lock) noexcept {
  constexpr std::chrono::milliseconds interval{10};
  thread_local std::chrono::nanoseconds looked{0};
  auto const time = coarse_now();
  if (time - looked < interval) return false;
  looked = time;
  bool orphaned = false;
  lock.for_each_holder([&](Holder holder) {
    pid_t const pid = pid_of(holder);
    orphaned = orphaned || (pid != own_process && !process_is_alive(pid));
  });
  return orphaned;
}

void give_way(SharedLock& lock) noexcept {
  constexpr int looks = 64;
  // A process that has ended in the meantime does not renew its hint.
  lock.clear_waiter_hint();
  for (int look = 0; look < looks; ++look) {
    if (!lock.seems_free()) return;
    cpu_relax();
  }
  sched_yield();
}

}  // namespace mpixrma::engine
