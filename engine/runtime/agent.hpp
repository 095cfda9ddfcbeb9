/// The thread that executes the messages of a channel when the application does not.
///
/// It sleeps on the worker's event descriptor. Where messages come faster than it can fall asleep and be
/// woken, it looks for the next one for a short while before. When something arrives it first finds out
/// whether the application polls; if so it leaves the messages to it and only looks from time to time whether
/// that has ended, so that on few cores it never competes with a polling application. After a while without
/// messages it goes back to the descriptor and the application's polls become free of charge.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/log.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/base/status.hpp"

namespace mpixrma::engine {

class Channel;

class Agent {
 public:
  /// `trust`: how long a poll is taken as a sign that the application goes on polling.
  /// `longest_linger`, `cores`: as in mpix_engine_config.
  Agent(Channel& channel, std::chrono::microseconds trust, std::chrono::microseconds longest_linger,
        char const* cores, Log const& log)
      : channel_(channel),
        trust_(trust),
        longest_linger_(std::max(longest_linger, std::chrono::microseconds(0))),
        cores_(cores != nullptr ? cores : ""),
        log_(log) {}
  ~Agent() { stop(); }

  /// Has `take` called, while the channel is not locked, when `fd` is readable, and now and then. Before
  /// start().
  void attend(int fd, std::function<void()> take) {
    attended_ = fd;
    take_ = std::move(take);
  }

  /// Has `answer` called when `fd` is readable, and only then: never while the channel is locked. Before start().
  void inspect(int fd, std::function<void()> answer) {
    inspected_ = fd;
    answer_inspection_ = std::move(answer);
  }

  Status start();
  void stop() noexcept;

 private:
  void run();
  bool serve();
  /// Handles everything, then sleeps until an event; false when the agent is to stop.
  bool sleep_until_event();
  /// Handles everything that has arrived.
  void handle_arrived();
  /// Looks for another message; true when there was one.
  bool linger();
  void note_handled() noexcept;
  void sleep(bool looks);
  /// Leaves the messages to the application for as long as it polls.
  void yield_to_application();
  /// Sleeps; true when somebody woke the agent.
  bool pause(std::chrono::microseconds duration) const;
  void inspect_if(short events) const;
  void wake() noexcept;
  void forget_wake() noexcept;

  Channel& channel_;
  std::chrono::microseconds trust_;
  std::chrono::nanoseconds longest_linger_;
  std::chrono::nanoseconds gap_ = std::chrono::seconds(1);  ///< between messages, on average of the newest
  std::chrono::steady_clock::time_point handled_;           ///< when the newest was
  std::chrono::steady_clock::time_point arrived_;           ///< when the agent was woken last
  std::string cores_;
  Log const& log_;
  FileDescriptor wake_event_;
  int attended_ = -1;
  std::function<void()> take_;
  int inspected_ = -1;
  std::function<void()> answer_inspection_;
  std::atomic<bool> stopping_{false};
  std::uint64_t polls_seen_ = 0;
  std::thread thread_;
};

}  // namespace mpixrma::engine
