/// A wait for another thread or process: spins briefly, then yields the core.
#pragma once

#include <sched.h>

namespace mpixrma::engine {

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Backoff {
 public:
  void pause() noexcept {
    // With more processes than cores, the process waited for may not be running, so yield early.
    if (++spins_ < 64) {
      cpu_relax();
    } else {
      sched_yield();
    }
  }

 private:
  unsigned spins_ = 0;
};

}  // namespace mpixrma::engine
