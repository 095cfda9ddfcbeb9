/// For the executor's accesses to the application's memory.
#pragma once

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_ignore_thread_begin();
extern "C" void __tsan_ignore_thread_end();
#endif

namespace mpixrma::engine {

/// Remote operations touch the application's memory. What orders them with the application's own accesses is
/// communication through other processes, which the thread sanitizer does not see: it looks away meanwhile.
struct Unwatched {
#ifdef __SANITIZE_THREAD__
  Unwatched() noexcept { __tsan_ignore_thread_begin(); }
  ~Unwatched() { __tsan_ignore_thread_end(); }
#endif
};

}  // namespace mpixrma::engine
