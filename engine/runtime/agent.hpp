/// The thread that executes the messages of a channel when the application does not.
///
/// The agent sleeps on the worker's event descriptor. If messages arrive faster than it can fall asleep and
/// be woken, it first polls for the next one briefly. When a message arrives, the agent first determines
/// whether the application polls; if so, it leaves the messages to the application and only checks from time
/// to time whether the polling has ended, so that on few cores it never competes with a polling application.
/// After a while without messages it returns to the descriptor, and the application's polls cost nothing
/// again.
#pragma once

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/log.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/base/status.hpp"
#include "engine/runtime/core_sharing.hpp"

namespace mpixrma::engine {

class Channel;

class Agent {
 public:
  /// `poll_interval`: how long a poll is taken as a sign that the application continues to poll.
  /// `longest_linger`, `cores`: as in mpix_engine_config.
  Agent(Channel& channel, std::chrono::microseconds poll_interval, std::chrono::microseconds longest_linger,
        char const* cores, Log const& log)
      : channel_(channel),
        poll_interval_(poll_interval),
        longest_linger_(std::max(longest_linger, std::chrono::microseconds(0))),
        cores_(cores != nullptr ? cores : ""),
        log_(log) {}
  ~Agent() { stop(); }

  /// Calls `handle`, with the channel unlocked, whenever the agent is awake; it wakes when `fd` is readable.
  /// Call it before start().
  void watch_fd(int fd, std::function<void()> handle) {
    watched_fd_ = fd;
    on_wake_ = std::move(handle);
  }

  /// Calls `handle` when `fd` is readable, and only then; never with the channel locked. Call it before
  /// start(), at most max_services times.
  void serve(int fd, std::function<void()> handle) { services_.at(count_++) = {fd, std::move(handle)}; }

  /// Calls `work` whenever the agent is awake, with the channel unlocked. Call it before start().
  void set_work(std::function<void()> work) { work_ = std::move(work); }

  Status start();
  void stop() noexcept;

 private:
  void run();
  bool work_until_stopped();
  /// Handles everything, then sleeps until an event; returns false if the agent is to stop.
  bool sleep_until_event();
  /// Handles everything that has arrived; returns true if there was something.
  bool handle_arrived();
  /// Polls for another message; returns true if there was one.
  bool poll_for_a_while();
  void note_handled() noexcept;
  /// The end of a sleep: an event only, or an event or the next periodic check, whichever is first.
  enum class SleepUntil : std::uint8_t { event, periodic_check };
  void sleep(SleepUntil end);
  /// Leaves the messages to the application as long as it polls and messages arrive.
  void yield_to_application();
  /// Sleeps for `duration`, or until descriptor `event` (-1: none) or one of the services is readable, or the
  /// agent is woken. Serves the services. Returns true if the agent was woken.
  bool pause(std::chrono::microseconds duration, int event) const;
  void handle_readable(pollfd const* services) const;
  void wake() noexcept;
  void forget_wake() noexcept;

  Channel& channel_;
  std::chrono::microseconds poll_interval_;
  std::chrono::nanoseconds longest_linger_;
  CoreSharing core_sharing_;
  std::chrono::nanoseconds gap_ = std::chrono::seconds(1);  ///< between messages, moving average
  unsigned slept_at_once_ = 0;  ///< number of calls of poll_for_a_while() while messages are slow
  std::chrono::steady_clock::time_point handled_;  ///< time of the newest message
  std::chrono::steady_clock::time_point woken_;    ///< time of the last wake-up
  std::string cores_;
  Log const& log_;
  FileDescriptor wake_event_;
  int watched_fd_ = -1;
  std::function<void()> on_wake_;
  std::function<void()> work_;
  static constexpr std::size_t max_services = 3;
  struct Service {
    int fd = -1;
    std::function<void()> handle;
  };
  std::array<Service, max_services> services_;
  std::size_t count_ = 0;
  std::atomic<bool> stopping_{false};
  std::uint64_t polls_seen_ = 0;
  bool reported_ = false;  ///< a lack of memory is reported once
  std::thread thread_;
};

}  // namespace mpixrma::engine
