/// The thread that completes requests: MPI's own waiting drives neither the engine nor this host. It sleeps
/// while no operation with a request is under way.
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

  /// Drives the engine once, and shows to MPI what it has completed. Whether there was anything.
  bool turn() noexcept;

  /// A request was made active; another one is complete.
  void issued() noexcept {
    if (active_.fetch_add(1, std::memory_order_relaxed) == 0) active_.notify_one();
  }
  void completed() noexcept { active_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  void run() noexcept;
  void poll() noexcept;

  mpix_engine_t* engine_ = nullptr;
  std::atomic<int> active_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace mpixrma::host
