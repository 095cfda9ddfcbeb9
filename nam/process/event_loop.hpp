/// One thread that waits for descriptors, signals and the passing of time.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "nam/process/turns.hpp"

namespace mpixrma::nam {

class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;

  /// Throws Error.
  EventLoop();

  /// Calls `handler` with the epoll events of `fd` until forget(fd). A handler that throws is logged, and its
  /// descriptor is watched again after a delay that doubles with each failure in a row.
  void watch(int fd, std::uint32_t events, Handler handler);
  void change(int fd, std::uint32_t events);
  void forget(int fd);

  /// Does not watch `fd` for this time.
  void pause(int fd, std::chrono::milliseconds span);

  /// Calls `handler` in run() instead of the default action of the signals. May be called once.
  void on_signals(std::vector<int> const& signals, std::function<void(int signal)> handler);
  /// Calls `handler` each `period`, measured in time during which the machine runs: changes of the clock do
  /// not matter.
  void every(std::chrono::milliseconds period, std::function<void()> handler);
  /// Makes a timer that is not running. The handler is called once for each start of the timer.
  int add_timer(std::function<void()> handler);
  static void start_timer(int timer, std::chrono::nanoseconds span);
  /// Runs `task` after the current handlers, for the destruction of an object whose handler may be running. A
  /// task that throws is logged.
  void later(std::function<void()> task) { tasks_.push_back(std::move(task)); }
  /// Runs `task` when it is the turn of `user`: at most one task of each user between two looks at
  /// descriptors. A task that throws is logged.
  void in_turn(std::string const& user, std::function<void()> task) { turns_.add(user, std::move(task)); }
  /// Whether tasks wait for their turn.
  bool has_turns() const noexcept { return !turns_.empty(); }

  /// After an event, polls for more for this time, yielding to other threads, before it sleeps: to wake up
  /// may take longer than the request that is waited for. Off by default.
  void linger(std::chrono::microseconds span) noexcept { linger_ = span; }

  void run();
  void stop() noexcept { stopping_ = true; }

 private:
  struct Watched {
    std::shared_ptr<Handler> handler;
    std::uint32_t events = 0;
    unsigned failures = 0;  ///< in a row
    bool suspended = false;
    std::chrono::steady_clock::time_point resume_at;
  };

  void run_tasks();
  void run_round();
  void dispatch(int fd, std::uint32_t events);
  void suspend(int fd, Watched& watched, std::chrono::milliseconds span);
  void resume_suspended();
  int milliseconds_to_resume() const;
  std::span<epoll_event const> wait(std::span<epoll_event> room);

  engine::FileDescriptor epoll_;
  engine::FileDescriptor signals_;
  std::vector<engine::FileDescriptor> timers_;
  std::map<int, Watched> watched_;
  std::size_t suspended_ = 0;  ///< entries of `watched_`
  std::vector<std::function<void()>> tasks_;
  Turns turns_;
  bool stopping_ = false;
  std::chrono::microseconds linger_{0};
  std::chrono::steady_clock::time_point happened_;
};

}  // namespace mpixrma::nam
