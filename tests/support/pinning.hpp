/// Binds threads that must run concurrently to different processors.
#pragma once

#include <sched.h>

namespace mpixrma::test {

/// Binds the calling thread to processor `index` of those that it may use, if there are that many.
inline void pin_thread(int index) noexcept {
  cpu_set_t permitted;
  CPU_ZERO(&permitted);
  if (::sched_getaffinity(0, sizeof permitted, &permitted) != 0) return;
  int seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &permitted) || seen++ != index) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

/// Binds the calling thread for a scope.
class Pinned {
 public:
  explicit Pinned(int index) noexcept {
    CPU_ZERO(&before_);
    ::sched_getaffinity(0, sizeof before_, &before_);
    pin_thread(index);
  }
  ~Pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(Pinned const&) = delete;
  Pinned& operator=(Pinned const&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace mpixrma::test
