#include "nam/process/event_loop.hpp"

#include <sched.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "nam/process/log.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

[[noreturn]] void fail(char const* what) {
  throw Error(ErrorCode::internal, std::string(what) + ": " + std::strerror(errno));
}

constexpr std::chrono::milliseconds first_suspension{10};
constexpr unsigned max_doublings = 10;
constexpr std::size_t max_turns = 64;  ///< between two looks at descriptors

/// Whether `action` returns normally: an exception of one event must not end the process, which serves all
/// others.
template <typename Action>
bool returns(Action const& action) noexcept {
  try {
    action();
    return true;
  } catch (std::exception const& error) {
    log(Severity::error, std::string("an event was not handled: ") + error.what());
  } catch (...) {
    log(Severity::error, "an event was not handled");
  }
  return false;
}

epoll_event event_of(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return event;
}

}  // namespace

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) fail("epoll_create1");
}

void EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  epoll_event event = event_of(fd, events);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
  watched_[fd] = {
      .handler = std::make_shared<Handler>(std::move(handler)), .events = events, .resume_at = {}};
}

void EventLoop::change(int fd, std::uint32_t events) {
  Watched& watched = watched_.at(fd);
  watched.events = events;
  if (watched.suspended) return;
  epoll_event event = event_of(fd, events);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) fail("epoll_ctl");
}

void EventLoop::forget(int fd) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  auto const found = watched_.find(fd);
  if (found == watched_.end()) return;
  if (found->second.suspended) --suspended_;
  watched_.erase(found);
}

/// The descriptor is not watched at all meanwhile: a descriptor that is watched for nothing still reports its
/// errors.
void EventLoop::suspend(int fd, Watched& watched, std::chrono::milliseconds span) {
  watched.resume_at = std::chrono::steady_clock::now() + span;
  if (std::exchange(watched.suspended, true)) return;
  ++suspended_;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::pause(int fd, std::chrono::milliseconds span) {
  if (auto const found = watched_.find(fd); found != watched_.end()) suspend(fd, found->second, span);
}

void EventLoop::resume_suspended() {
  if (suspended_ == 0) return;
  auto const now = std::chrono::steady_clock::now();
  for (auto& [fd, watched] : watched_) {
    if (!watched.suspended || watched.resume_at > now) continue;
    epoll_event event = event_of(fd, watched.events);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      watched.resume_at = now + first_suspension * (1u << max_doublings);
      continue;
    }
    watched.suspended = false;
    --suspended_;
  }
}

/// Returns the timeout for epoll_wait: -1 without a suspended descriptor.
int EventLoop::milliseconds_to_resume() const {
  if (suspended_ == 0) return -1;
  auto first = std::chrono::steady_clock::time_point::max();
  for (auto const& [fd, watched] : watched_) {
    if (watched.suspended) first = std::min(first, watched.resume_at);
  }
  auto const left =
      std::chrono::ceil<std::chrono::milliseconds>(first - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void EventLoop::on_signals(std::vector<int> const& signals, std::function<void(int signal)> handler) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int const signal : signals) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = engine::FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) fail("signalfd");
  int const fd = signals_.get();
  watch(fd, EPOLLIN, [fd, handler = std::move(handler)](std::uint32_t) {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info) handler(static_cast<int>(info.ssi_signo));
  });
}

namespace {

void set_timer(int timer, std::chrono::nanoseconds first, std::chrono::nanoseconds period) {
  auto const span = [](std::chrono::nanoseconds time) {
    return timespec{time.count() / 1000000000, time.count() % 1000000000};
  };
  itimerspec const setting{span(period), span(first)};
  if (::timerfd_settime(timer, 0, &setting, nullptr) != 0) fail("timerfd_settime");
}

}  // namespace

void EventLoop::every(std::chrono::milliseconds period, std::function<void()> handler) {
  set_timer(add_timer(std::move(handler)), period, period);
}

void EventLoop::start_timer(int timer, std::chrono::nanoseconds span) {
  // A time of zero would stop the timer.
  set_timer(timer, std::max(span, std::chrono::nanoseconds(1)), std::chrono::nanoseconds::zero());
}

int EventLoop::add_timer(std::function<void()> handler) {
  engine::FileDescriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) fail("timerfd_create");
  int const fd = timer.get();
  timers_.push_back(std::move(timer));
  watch(fd, EPOLLIN, [fd, handler = std::move(handler)](std::uint32_t) {
    std::uint64_t expirations = 0;
    if (::read(fd, &expirations, sizeof expirations) == sizeof expirations) handler();
  });
  return fd;
}

void EventLoop::run_tasks() {
  while (!tasks_.empty()) {
    std::vector<std::function<void()>> const tasks = std::move(tasks_);
    tasks_.clear();
    for (auto const& task : tasks) (void)returns(task);
  }
}

void EventLoop::run_round() {
  for (auto const& task : turns_.next_round(max_turns)) (void)returns(task);
}

std::span<epoll_event const> EventLoop::wait(std::span<epoll_event> room) {
  int count = 0;
  auto const look = [&](int timeout) {
    count = ::epoll_wait(epoll_.get(), room.data(), static_cast<int>(room.size()), timeout);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
  };
  if (!turns_.empty()) {
    look(0);
  } else if (linger_.count() != 0) {
    for (look(0); count == 0 && std::chrono::steady_clock::now() - happened_ < linger_; look(0))
      ::sched_yield();
  }
  if (count == 0 && turns_.empty()) look(milliseconds_to_resume());
  if (linger_.count() != 0) happened_ = std::chrono::steady_clock::now();
  return room.first(static_cast<std::size_t>(std::max(count, 0)));
}

void EventLoop::dispatch(int fd, std::uint32_t events) {
  auto found = watched_.find(fd);
  if (found == watched_.end() || found->second.suspended) return;
  std::shared_ptr<Handler> const handler = found->second.handler;  // fd may be forgotten meanwhile
  bool const done = returns([&] { (*handler)(events); });
  found = watched_.find(fd);
  if (found == watched_.end() || found->second.handler != handler) return;
  if (done) {
    found->second.failures = 0;
  } else {
    unsigned const doublings = std::min(found->second.failures++, max_doublings);
    suspend(fd, found->second, first_suspension * (1u << doublings));
  }
}

void EventLoop::run() {
  std::array<epoll_event, 64> room;
  run_tasks();
  while (!stopping_) {
    for (epoll_event const& event : wait(room)) dispatch(event.data.fd, event.events);
    resume_suspended();
    run_round();
    run_tasks();
  }
}

}  // namespace mpixrma::nam
