#include "nam/protocol/descriptor_refusal.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <optional>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace mpixrma::nam {

namespace {

constexpr long interruption_period_ns = 1000000;

/// State of the one thread that has called enable_interrupted_waits().
struct Interruptions {
  bool are_enabled = false;
  timer_t timer{};
  int depth = 0;
} interruptions;

/// The timer is periodic, since its first signal may arrive before the wait begins.
void set_interruption_period(long nanoseconds) noexcept {
  itimerspec const setting{{0, nanoseconds}, {0, nanoseconds}};
  (void)::timer_settime(interruptions.timer, 0, &setting, nullptr);
}

std::optional<int> socket_option(engine::FileDescriptor const& socket, int option) noexcept {
  int value = 0;
  socklen_t length = sizeof value;
  if (::getsockopt(socket.get(), SOL_SOCKET, option, &value, &length) != 0) return std::nullopt;
  return value;
}

}  // namespace

void refuse_descriptors(engine::FileDescriptor const& listener) noexcept {
  int const no = 0;
  (void)::setsockopt(listener.get(), SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof no);
}

bool may_carry_descriptors(engine::FileDescriptor const& socket) noexcept {
  return socket_option(socket, SO_DOMAIN) == AF_UNIX && socket_option(socket, SO_PASSRIGHTS) != 0;
}

bool enable_interrupted_waits() noexcept {
  if (interruptions.are_enabled) return true;
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGURG);
  sigevent event{};
  // Another thread must not receive the signal: UCX has some in a data process.
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGURG;
  event.sigev_notify_thread_id = static_cast<pid_t>(::syscall(SYS_gettid));
  interruptions.are_enabled = ::sigaction(SIGURG, &action, nullptr) == 0 &&
                              ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) == 0 &&
                              ::timer_create(CLOCK_MONOTONIC, &event, &interruptions.timer) == 0;
  return interruptions.are_enabled;
}

InterruptedWait::InterruptedWait(bool is_needed) noexcept
    : is_active_(is_needed && interruptions.are_enabled) {
  if (is_active_ && interruptions.depth++ == 0) set_interruption_period(interruption_period_ns);
}

InterruptedWait::~InterruptedWait() {
  if (is_active_ && --interruptions.depth == 0) set_interruption_period(0);
}

}  // namespace mpixrma::nam
