#include "hosts/public-mpi/completer.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "engine/base/service_thread.hpp"
#include "hosts/public-mpi/requests.hpp"

namespace mpixrma::host {

/// Never destroyed, because a process may end without MPI_Finalize.
Completer& Completer::instance() noexcept {
  static auto* const completer = new Completer;
  return *completer;
}

void Completer::start(mpix_engine_t* engine) {
  engine_ = engine;
  thread_ = engine::start_service_thread([this] { run(); });
}

void Completer::stop() noexcept {
  stopping_.store(true, std::memory_order_relaxed);
  add_active();  // wakes the thread
  thread_.join();
}

void Completer::run() noexcept {
  ::prctl(PR_SET_NAME, "mpix-completer");
  ::prctl(PR_SET_TIMERSLACK, 1);
  while (!stopping_.load(std::memory_order_relaxed)) {
    active_.wait(0, std::memory_order_relaxed);
    poll();
  }
}

bool Completer::progress_once() noexcept {
  int const events = mpix_engine_progress(engine_);
  return drain_completed() + events != 0;
}

/// Polls without sleeping at first, then sleeps longer the longer nothing happens.
void Completer::poll() noexcept {
  constexpr int turns_without_sleep = 200;
  constexpr long shortest_ns = 10'000;
  constexpr long longest_ns = 500'000;
  int idle = 0;
  while (active_.load(std::memory_order_relaxed) > 0 && !stopping_.load(std::memory_order_relaxed)) {
    idle = progress_once() ? 0 : idle + 1;
    if (idle < turns_without_sleep) {
      ::sched_yield();
    } else {
      timespec const pause{0, std::min(shortest_ns * (idle / turns_without_sleep), longest_ns)};
      ::nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace mpixrma::host
