/// Excludes the executor's accesses to the application's memory from the thread sanitizer.
#pragma once

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_ignore_thread_begin();
extern "C" void __tsan_ignore_thread_end();
#endif

namespace mpixrma::engine {

/// Remote operations access the application's memory. They are ordered with the application's own accesses by
/// communication through other processes, which the thread sanitizer does not see, so it ignores accesses
/// within this scope.
struct TsanIgnoreScope {
#ifdef __SANITIZE_THREAD__
  TsanIgnoreScope() noexcept { __tsan_ignore_thread_begin(); }
  ~TsanIgnoreScope() { __tsan_ignore_thread_end(); }
#endif
};

}  // namespace mpixrma::engine
