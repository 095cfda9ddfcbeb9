#include "nam/server/event_loop.hpp"

#include <sched.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "nam/protocol/error.hpp"

namespace mpix::nam {

namespace {

[[noreturn]] void fail(char const* what) {
  throw Error(ErrorCode::internal, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) fail("epoll_create1");
}

void EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
}

void EventLoop::change(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) fail("epoll_ctl");
}

void EventLoop::forget(int fd) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  handlers_.erase(fd);
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

void set_timer(int timer, std::chrono::milliseconds first, std::chrono::milliseconds period) {
  auto const span = [](std::chrono::milliseconds time) {
    return timespec{time.count() / 1000, (time.count() % 1000) * 1000000};
  };
  itimerspec const setting{span(period), span(first)};
  if (::timerfd_settime(timer, 0, &setting, nullptr) != 0) fail("timerfd_settime");
}

}  // namespace

void EventLoop::every(std::chrono::milliseconds period, std::function<void()> handler) {
  set_timer(add_timer(std::move(handler)), period, period);
}

void EventLoop::start_timer(int timer, std::chrono::milliseconds span) {
  set_timer(timer, span, std::chrono::milliseconds::zero());
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
    for (auto const& task : tasks) task();
  }
}

std::span<epoll_event const> EventLoop::wait(std::span<epoll_event> room) {
  int count = 0;
  auto const look = [&](int timeout) {
    count = ::epoll_wait(epoll_.get(), room.data(), static_cast<int>(room.size()), timeout);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
  };
  if (linger_.count() != 0) {
    for (look(0); count == 0 && std::chrono::steady_clock::now() - happened_ < linger_; look(0))
      ::sched_yield();
  }
  if (count == 0) look(-1);
  if (linger_.count() != 0) happened_ = std::chrono::steady_clock::now();
  return room.first(static_cast<std::size_t>(std::max(count, 0)));
}

void EventLoop::run() {
  std::array<epoll_event, 64> room;
  run_tasks();
  while (!stopping_) {
    for (epoll_event const& event : wait(room)) {
      auto const found = handlers_.find(event.data.fd);
      if (found == handlers_.end()) continue;
      std::shared_ptr<Handler> const handler = found->second;  // it may be forgotten meanwhile
      (*handler)(event.events);
    }
    run_tasks();
  }
}

}  // namespace mpix::nam
