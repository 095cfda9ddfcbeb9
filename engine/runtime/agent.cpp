#include "engine/runtime/agent.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "engine/base/failed_call.hpp"
#include "engine/base/service_thread.hpp"
#include "engine/memory/fault_guard.hpp"
#include "engine/runtime/channel.hpp"
#include "engine/runtime/placement.hpp"

namespace mpixrma::engine {

namespace {

using std::chrono::microseconds;

// A polling application polls at least once within this time.
constexpr microseconds first_poll_window{20};
// Number of polls without a message after which the agent returns to the event descriptor, or polls half as
// often.
constexpr int idle_polls = 16;
constexpr int max_halvings = 6;
// If messages arrive slowly, the agent polls for the next one only once in this number of messages.
constexpr unsigned trial_interval = 32;
// Interval for checking processes whose end no descriptor announces, and idle connections.
constexpr int check_interval_ms = 1000;
// Calls of progress() after which the agent looks for abandoned batches while messages keep arriving.
constexpr unsigned turns_between_batch_checks = 64;

constexpr timespec timespec_of(microseconds duration) {
  auto const seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return {seconds.count(), std::chrono::nanoseconds(duration - seconds).count()};
}
static_assert(timespec_of(microseconds(999'999)).tv_nsec == 999'999'000);
static_assert(timespec_of(microseconds(1'000'000)).tv_sec == 1 &&
              timespec_of(microseconds(1'000'000)).tv_nsec == 0);

}  // namespace

Status Agent::start() {
  wake_event_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_event_) {
    record_failed_call("eventfd", errno);
    return descriptors_run_short() ? Status::no_descriptors : Status::out_of_memory;
  }
  channel_.set_wake([this] { wake(); });
  try {
    thread_ = start_service_thread([this] { run(); });
  } catch (std::system_error const& error) {
    log_.write(LogLevel::error, "the agent thread could not be started: %s", error.what());
    record_failed_call("pthread_create", error.code().value());
    return Status::out_of_memory;
  }
  return Status::ok;
}

void Agent::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  wake();
  thread_.join();
}

void Agent::wake() noexcept {
  std::uint64_t const one = 1;
  (void)!::write(wake_event_.get(), &one, sizeof one);
}

void Agent::forget_wake() noexcept {
  std::uint64_t count = 0;
  (void)!::read(wake_event_.get(), &count, sizeof count);
}

void Agent::run() {
  pthread_setname_np(pthread_self(), "mpix-agent");
  FaultScope::admit_always();
  // The default slack rounds short sleeps up by 50 us.
  (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  if (!work_until_stopped()) return;
  // By the first event, the other processes of the job have started and are bound.
  place_agent(cores_, log_);
  while (work_until_stopped()) {
    // An application that did not poll during the sleep is computing: the agent executes messages at once.
    if (channel_.polls() != polls_seen_) yield_to_application();
  }
}

/// As sleep_until_event(), but tolerates lack of memory: failed work is retried after a pause.
bool Agent::work_until_stopped() {
  for (;;) {
    try {
      return sleep_until_event();
    } catch (std::bad_alloc const&) {
      if (!std::exchange(reported_, true)) log_.write(LogLevel::error, "the agent has no memory to go on");
      forget_wake();
      (void)pause(poll_interval_, -1);
    }
  }
}

bool Agent::handle_arrived() {
  std::lock_guard const held(channel_.lock);
  channel_.poll_processes();
  channel_.send_abandoned_batches();
  unsigned turns = 0;
  while (channel_.progress() != 0) {
    // Messages may arrive without end.
    if (++turns % turns_between_batch_checks == 0) channel_.send_abandoned_batches();
  }
  if (turns != 0) note_handled();
  return turns != 0;
}

/// Messages handled without sleeping count as a gap of 0.
void Agent::note_handled() noexcept {
  auto const now = std::chrono::steady_clock::now();
  // Limits the effect of a very long gap.
  auto const gap =
      std::min<std::chrono::nanoseconds>(std::max(woken_, handled_) - handled_, 4 * longest_linger_);
  gap_ = (3 * gap_ + gap) / 4;
  handled_ = now;
}

/// Polls until a message arrives, another thread polls, or the newest message is `longest_linger_` old. A
/// timed batch is not left waiting for that.
bool Agent::poll_for_a_while() {
  // The gap includes the wake-up time of this thread: occasional polling measures the gap without it.
  bool const on_trial = gap_ > longest_linger_;
  if (on_trial && ++slept_at_once_ % trial_interval != 0) return false;
  std::uint64_t const polls = channel_.polls();
  auto const began = std::chrono::steady_clock::now();
  for (auto now = began; now < handled_ + longest_linger_ && channel_.polls() == polls;) {
    {
      std::unique_lock const held(channel_.lock, std::try_to_lock);
      if (held.owns_lock() && channel_.progress() != 0) {
        note_handled();
        if (on_trial) gap_ = longest_linger_ / 2;
        return true;
      }
      bool const is_long = now >= began + poll_interval_;
      if (is_long && held.owns_lock() && channel_.message_protocol.sender.has_timed_batch()) return false;
    }
    // With more threads than cores, the agents of other processes may wait for this core.
    bool const yields = core_sharing_.yields();
    if (yields) ::sched_yield();
    auto const later = std::chrono::steady_clock::now();
    // The time that other threads had the core does not count as a wait for messages.
    if (yields && core_sharing_.record_absence(later - now)) handled_ += later - now;
    now = later;
  }
  return false;
}

bool Agent::sleep_until_event() {
  SleepUntil end = SleepUntil::event;
  for (int polls_in_vain = 0;; ++polls_in_vain) {
    if (stopping_.load(std::memory_order_relaxed)) return false;
    if (on_wake_) on_wake_();
    if (work_) work_();
    if (handle_arrived()) polls_in_vain = 0;
    if (poll_for_a_while()) continue;
    int const halvings = std::min(polls_in_vain / idle_polls, max_halvings);
    bool busy = false;
    bool armed = false;
    {
      std::lock_guard const held(channel_.lock);
      busy = channel_.needs_polling() || channel_.message_protocol.sender.has_timed_batch();
      bool const checks = channel_.must_poll() || channel_.eviction.is_over_limit();
      end = checks ? SleepUntil::periodic_check : SleepUntil::event;
      armed = (!busy || halvings != 0) && channel_.transport.arm();
      if (!busy && armed) {
        channel_.begin_agent_sleep();
        break;
      }
    }
    // No event announces that a full queue to a peer has room again, or that stripes are released. A stopped
    // peer leaves its queue full for long. Arriving messages are an event.
    if (busy && pause(first_poll_window * (1 << halvings), armed ? channel_.transport.event_fd() : -1)) {
      forget_wake();
      polls_in_vain = 0;
    }
  }
  polls_seen_ = channel_.polls();
  sleep(end);
  channel_.end_agent_sleep();
  return !stopping_.load(std::memory_order_relaxed);
}

void Agent::sleep(SleepUntil end) {
  static_assert(max_services == 3);
  pollfd sources[] = {{services_[0].fd, POLLIN, 0},
                      {services_[1].fd, POLLIN, 0},
                      {services_[2].fd, POLLIN, 0},
                      {wake_event_.get(), POLLIN, 0},
                      {channel_.transport.event_fd(), POLLIN, 0},
                      {channel_.watch.fd(), POLLIN, 0},
                      {channel_.locks.fd(), POLLIN, 0},
                      {channel_.locks.timer_fd(), POLLIN, 0},
                      {watched_fd_, POLLIN, 0}};
  int ready = -1;
  int const timeout_ms = end == SleepUntil::periodic_check ? check_interval_ms : -1;
  while (ready < 0) ready = ::poll(sources, std::size(sources), timeout_ms);
  woken_ = std::chrono::steady_clock::now();
  if (ready == 0) {
    std::lock_guard const held(channel_.lock);
    channel_.eviction.request_idle_disconnects();
  }
  if ((sources[max_services].revents & POLLIN) != 0) forget_wake();
  handle_readable(sources);
}

/// `services`: what poll() has found for each of `services_`.
void Agent::handle_readable(pollfd const* services) const {
  for (Service const& service : services_) {
    if ((services++->revents & POLLIN) != 0) service.handle();
  }
}

void Agent::yield_to_application() {
  std::uint64_t polls = channel_.polls();
  std::uint64_t events = channel_.events();
  microseconds duration = first_poll_window;
  for (int idle = 0; idle < idle_polls;) {
    if (pause(duration, -1)) {
      forget_wake();
      return;
    }
    std::uint64_t const now = channel_.polls();
    if (now == polls) return;
    polls = now;
    std::uint64_t const handled = channel_.events();
    idle = handled == events ? idle + 1 : 0;
    events = handled;
    duration = poll_interval_;
  }
}

bool Agent::pause(microseconds duration, int event) const {
  pollfd sources[] = {{services_[0].fd, POLLIN, 0},
                      {services_[1].fd, POLLIN, 0},
                      {services_[2].fd, POLLIN, 0},
                      {wake_event_.get(), POLLIN, 0},
                      {event, POLLIN, 0}};
  timespec const time = timespec_of(duration);
  if (::ppoll(sources, std::size(sources), &time, nullptr) <= 0) return false;
  handle_readable(sources);
  return (sources[max_services].revents & POLLIN) != 0;
}

}  // namespace mpixrma::engine
