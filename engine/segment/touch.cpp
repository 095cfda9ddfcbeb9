#include "engine/segment/touch.hpp"

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <type_traits>

// The two functions that may fault, in one piece, and where they go on when they do. In assembler: the
// handler has to know the instructions, and no compiler or sanitizer is to add any.
#if defined(__x86_64__)
#define MPIX_CAN_TOUCH 1
#define MPIX_TOUCH_READ "movb (%rdi), %al\n movl $1, %eax\n ret\n"
#define MPIX_TOUCH_WRITE "lock orb $0, (%rdi)\n movl $1, %eax\n ret\n"
#define MPIX_TOUCH_FAILED "xorl %eax, %eax\n ret\n"
#elif defined(__aarch64__)
#define MPIX_CAN_TOUCH 1
#define MPIX_TOUCH_READ "ldrb w1, [x0]\n mov w0, #1\n ret\n"
#define MPIX_TOUCH_WRITE \
  "ldxrb w1, [x0]\n stxrb w2, w1, [x0]\n cbnz w2, mpix_engine_touch_write\n mov w0, #1\n ret\n"
#define MPIX_TOUCH_FAILED "mov w0, #0\n ret\n"
#else
#define MPIX_CAN_TOUCH 0
#endif

#if MPIX_CAN_TOUCH
asm(R"(
  .pushsection .text.mpix_engine_touch, "ax", @progbits
  .hidden mpix_engine_touch_read
  .hidden mpix_engine_touch_write
  .hidden mpix_engine_touch_end
  .hidden mpix_engine_touch_failed
  .globl mpix_engine_touch_read
  .globl mpix_engine_touch_write
  .globl mpix_engine_touch_end
  .globl mpix_engine_touch_failed
  .type mpix_engine_touch_read, @function
  .type mpix_engine_touch_write, @function
mpix_engine_touch_read:
)" MPIX_TOUCH_READ R"(
mpix_engine_touch_write:
)" MPIX_TOUCH_WRITE R"(
mpix_engine_touch_end:
mpix_engine_touch_failed:
)" MPIX_TOUCH_FAILED R"(
  .popsection
)");

extern "C" {
int mpix_engine_touch_read(std::uintptr_t address) noexcept;
int mpix_engine_touch_write(std::uintptr_t address) noexcept;
extern char const mpix_engine_touch_end[];
extern char const mpix_engine_touch_failed[];
}
#endif

namespace mpix::engine {

#if MPIX_CAN_TOUCH

namespace {

auto& counter_of(void* context) noexcept {
#if defined(__x86_64__)
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
#else
  return static_cast<ucontext_t*>(context)->uc_mcontext.pc;
#endif
}

constexpr std::array<int, 2> signals{SIGSEGV, SIGBUS};

class Handler {
 public:
  Handler() noexcept {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      (void)::sigaction(signals[i], nullptr, &before_[i]);
      struct sigaction ours = before_[i];
      ours.sa_sigaction = &Handler::on_fault;
      // Of the flags those that are about how it is called; a system call that a stranger's signal
      // interrupts goes on as it would have.
      ours.sa_flags = (before_[i].sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART)) | SA_SIGINFO;
      in_place_ = ::sigaction(signals[i], &ours, nullptr) == 0 && in_place_;
    }
  }
  ~Handler() {
    // The code is about to go.
    for (std::size_t i = 0; i < signals.size(); ++i) {
      struct sigaction present {};
      (void)::sigaction(signals[i], nullptr, &present);
      bool const ours = (present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == &Handler::on_fault;
      if (ours) (void)::sigaction(signals[i], &before_[i], nullptr);
    }
  }
  Handler(Handler const&) = delete;
  Handler& operator=(Handler const&) = delete;

  static Handler& instance() noexcept {
    static Handler handler;
    return handler;
  }
  bool is_in_place() const noexcept { return in_place_; }

 private:
  static void on_fault(int signal, siginfo_t* info, void* context) {
    auto& counter = counter_of(context);
    auto const place = static_cast<std::uintptr_t>(counter);
    if (place >= reinterpret_cast<std::uintptr_t>(&mpix_engine_touch_read) &&
        place < reinterpret_cast<std::uintptr_t>(mpix_engine_touch_end)) {
      auto const failed = reinterpret_cast<std::uintptr_t>(mpix_engine_touch_failed);
      counter = static_cast<std::remove_reference_t<decltype(counter)>>(failed);
      return;
    }
    instance().pass_on(signal, info, context);
  }

  /// As if this handler had not been there.
  void pass_on(int signal, siginfo_t* info, void* context) const {
    struct sigaction const& before = before_[signal == signals[0] ? 0 : 1];
    bool const plain = (before.sa_flags & SA_SIGINFO) == 0;
    if (plain && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
      (void)::sigaction(signal, &before, nullptr);
      // An instruction that has faulted does so again. What a process has sent does not come again.
      if (info->si_code <= 0) (void)::raise(signal);
      return;
    }
    if ((static_cast<unsigned>(before.sa_flags) & SA_RESETHAND) != 0) (void)::signal(signal, SIG_DFL);
    plain ? before.sa_handler(signal) : before.sa_sigaction(signal, info, context);
  }

  std::array<struct sigaction, 2> before_{};
  bool in_place_ = true;
};

bool lets_faults_through() noexcept {
  sigset_t blocked;
  if (::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0) return false;
  return ::sigismember(&blocked, SIGSEGV) == 0 && ::sigismember(&blocked, SIGBUS) == 0;
}

}  // namespace

Touched touch(std::uintptr_t begin, std::uintptr_t end, std::size_t page, bool write) noexcept {
  if (!Handler::instance().is_in_place()) return Touched::unknown;
  thread_local bool const possible = lets_faults_through();
  if (!possible) return Touched::unknown;
  auto const touch_byte = write ? &mpix_engine_touch_write : &mpix_engine_touch_read;
  for (std::uintptr_t at = begin; at < end; at = (at & ~(page - 1)) + page) {
    if (touch_byte(at) == 0) return Touched::not_all;
  }
  return Touched::all;
}

#else

Touched touch(std::uintptr_t, std::uintptr_t, std::size_t, bool) noexcept { return Touched::unknown; }

#endif

}  // namespace mpix::engine
