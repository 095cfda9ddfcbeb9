/// The thread that completes requests, because MPI's own waits drive neither the engine nor this MPI host.
/// The thread sleeps while no operation with a request is active.
#pragma once

#include <atomic>
#include <thread>

#include "engine/runtime/mpix_engine.h"

namespace mpixrma::host {

class Completer {
 public:
  static Completer& instance() noexcept;

  void start(mpix_engine_t* engine);
  void stop() noexcept;

  /// Drives the engine once and passes its completions to MPI. Returns whether there were any events.
  bool progress_once() noexcept;

  /// Counts active requests; the thread sleeps while there are none.
  void add_active() noexcept {
    if (active_.fetch_add(1, std::memory_order_relaxed) == 0) active_.notify_one();
  }
  void remove_active() noexcept { active_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  void run() noexcept;
  void poll() noexcept;

  mpix_engine_t* engine_ = nullptr;
  std::atomic<int> active_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace mpixrma::host
