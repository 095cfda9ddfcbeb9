#include "engine/atomic/stripes.hpp"

#include "engine/atomic/backoff.hpp"

namespace mpix::engine {

void StripeLock::wait() noexcept {
  Backoff backoff;
  do {
    while (word_.load(std::memory_order_relaxed) != 0) backoff.pause();
  } while (word_.exchange(1, std::memory_order_acquire) != 0);
}

}  // namespace mpix::engine
