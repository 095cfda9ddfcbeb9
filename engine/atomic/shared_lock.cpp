#include "engine/atomic/shared_lock.hpp"

#include "engine/atomic/coarse_clock.hpp"
#include "engine/peer/liveness.hpp"

namespace mpix::engine {

bool may_be_orphaned(SharedLock& lock) noexcept {
  constexpr std::chrono::milliseconds interval{10};
  thread_local std::chrono::nanoseconds looked{0};
  auto const time = coarse_now();
  if (time - looked < interval) return false;
  looked = time;
  bool orphaned = false;
  lock.keep_if([&](Holder holder) {
    pid_t const pid = pid_of(holder);
    orphaned = orphaned || (pid != own_process && !process_is_alive(pid));
    return true;
  });
  return orphaned;
}

}  // namespace mpix::engine
