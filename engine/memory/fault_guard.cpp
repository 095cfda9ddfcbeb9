#include "engine/memory/fault_guard.hpp"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

#include "engine/memory/mask_change.hpp"

namespace mpixrma::engine {

namespace {

constexpr std::array<int, 2> signals{SIGSEGV, SIGBUS};

/// The point at which a guarded access continues after a fault.
struct Recovery {
  sigjmp_buf place;
  std::uintptr_t first;  ///< page-aligned address
  std::uintptr_t last;
  Recovery* outer;
  // Volatile, because the compiler does not see that the handler writes it before its reader runs.
  std::uintptr_t volatile fault;
};

/// The outermost scope of a thread, or outside of a scope the time at which the thread's signals were known
/// to be unblocked. One word, because a library loaded by dlopen() has little thread-local memory
/// (tests/c_abi/static_tls.py): a pointer is even, a time is stored as an odd number.
class ThreadScope {
 public:
  /// nullptr: none.
  FaultScope* get() const noexcept { return is_time() ? nullptr : reinterpret_cast<FaultScope*>(word_); }
  void enter(FaultScope* scope) noexcept { word_ = reinterpret_cast<std::uintptr_t>(scope); }
  /// `unblocked_at`: nanoseconds of the clock; 0: the signals may be blocked.
  void leave(std::int64_t unblocked_at) noexcept {
    word_ = unblocked_at == 0 ? 0 : static_cast<std::uintptr_t>(unblocked_at) << 1 | 1;
  }
  /// 0 within a scope, and if the signals may be blocked.
  std::int64_t unblocked_at() const noexcept { return is_time() ? static_cast<std::int64_t>(word_ >> 1) : 0; }

 private:
  bool is_time() const noexcept { return (word_ & 1) != 0; }

  std::uintptr_t word_;
};

struct ThreadFaults {
  Recovery* recovery;  ///< innermost guarded access
  ThreadScope scope;   ///< of the thread, or `always`
};
// Initial-exec, because the handler reads it in threads that never used this library, and must not allocate.
constinit thread_local ThreadFaults thread_faults __attribute__((tls_model("initial-exec"))) = {};

/// For threads that never block the signals. Must not be dereferenced.
FaultScope* const always = reinterpret_cast<FaultScope*>(alignof(FaultScope));

constinit MaskChange mask_change;

std::int64_t now() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Whether a thread whose signals were unblocked at that time cannot have blocked them since.
bool are_still_unblocked(std::int64_t unblocked_at) noexcept {
  return unblocked_at != 0 && now() - unblocked_at < mask_change.bound();
}

std::uintptr_t page_size() noexcept {
  static auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

/// Whether the arguments are those of the kernel's call. A handler that was installed by signal() and calls
/// this one passes only the first argument; the others are arbitrary register contents. The kernel places
/// both structures on the handler's stack.
bool is_complete(int signal, siginfo_t const* info, void const* context) noexcept {
  constexpr std::uintptr_t max_distance = 16 * 1024;
  auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  auto const on_stack = [here](void const* pointer) {
    auto const at = reinterpret_cast<std::uintptr_t>(pointer);
    return at - here < max_distance && at % sizeof(void*) == 0;
  };
  return on_stack(info) && on_stack(context) && info->si_signo == signal;
}

class Handler {
 public:
  [[gnu::noinline]] Handler() noexcept {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      (void)::sigaction(signals[i], nullptr, &before_[i]);
      struct sigaction ours = before_[i];
      ours.sa_sigaction = &Handler::on_fault;
      // Keeps the flags that control how the handler is called, so that a system call interrupted by an
      // unrelated signal continues as without this handler.
      ours.sa_flags = (before_[i].sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART)) | SA_SIGINFO;
      in_place_ = ::sigaction(signals[i], &ours, nullptr) == 0 && in_place_;
    }
  }
  ~Handler() {
    // This code is about to be unloaded.
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
    bool const complete = is_complete(signal, info, context);
    if (Recovery* const recovery = thread_faults.recovery; recovery != nullptr) {
      // For an address that no memory can have, the processor reports no address to the kernel.
      bool const known = complete && info->si_code != SI_KERNEL;
      auto const address = known ? reinterpret_cast<std::uintptr_t>(info->si_addr) : recovery->first;
      bool const sent = complete && info->si_code <= 0;  // sent by a process
      if (!sent && address >= recovery->first && address <= recovery->last) {
        recovery->fault = address;
        leave_handler(complete ? static_cast<ucontext_t const*>(context) : nullptr);
        ::siglongjmp(recovery->place, 1);
      }
    }
    instance().pass_on(signal, info, context, complete);
  }

  /// Restores the signal mask from before the fault. Without the context, unblocks the two signals, which are
  /// never blocked in a guarded access.
  static void leave_handler(ucontext_t const* context) noexcept {
    sigset_t faults;
    ::sigemptyset(&faults);
    for (int const signal : signals) ::sigaddset(&faults, signal);
    if (context != nullptr) {
      (void)::pthread_sigmask(SIG_SETMASK, &context->uc_sigmask, nullptr);
    } else {
      (void)::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    }
  }

  /// Acts as if this handler had not been installed.
  void pass_on(int signal, siginfo_t* info, void* context, bool complete) const {
    struct sigaction const& before = before_[signal == signals[0] ? 0 : 1];
    bool const plain = (before.sa_flags & SA_SIGINFO) == 0;
    if (plain && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
      (void)::sigaction(signal, &before, nullptr);
      // A faulting instruction faults again on return. A signal sent by a process must be raised again.
      if (!complete || info->si_code <= 0) (void)::raise(signal);
      return;
    }
    if ((static_cast<unsigned>(before.sa_flags) & SA_RESETHAND) != 0) (void)::signal(signal, SIG_DFL);
    plain ? before.sa_handler(signal) : before.sa_sigaction(signal, info, context);
  }

  std::array<struct sigaction, 2> before_{};
  bool in_place_ = true;
};

}  // namespace

FaultScope::FaultScope() noexcept {
  ThreadScope& thread = thread_faults.scope;
  outermost_ = thread.get() == nullptr;
  if (!outermost_) return;
  admits_ = are_still_unblocked(thread.unblocked_at());
  thread.enter(this);
}

FaultScope::~FaultScope() {
  if (!outermost_) return;
  bool const unblocked = admits_ && !blocks_segv_ && !blocks_bus_;
  thread_faults.scope.leave(unblocked && mask_change.bound() != 0 ? now() : 0);
  if (!blocks_segv_ && !blocks_bus_) return;
  sigset_t again;
  ::sigemptyset(&again);
  if (blocks_segv_) ::sigaddset(&again, SIGSEGV);
  if (blocks_bus_) ::sigaddset(&again, SIGBUS);
  (void)::pthread_sigmask(SIG_BLOCK, &again, nullptr);
}

void FaultScope::admit_always() noexcept { thread_faults.scope.enter(always); }

void FaultScope::unblock() noexcept {
  sigset_t faults;
  sigset_t before;
  ::sigemptyset(&faults);
  for (int const signal : signals) ::sigaddset(&faults, signal);
  bool const is_measured = mask_change.is_unknown();
  std::int64_t const began = is_measured ? now() : 0;
  if (::pthread_sigmask(SIG_UNBLOCK, &faults, &before) != 0) return;
  if (is_measured) mask_change.note(std::chrono::nanoseconds(now() - began));
  blocks_segv_ = ::sigismember(&before, SIGSEGV) == 1;
  blocks_bus_ = ::sigismember(&before, SIGBUS) == 1;
  admits_ = true;
}

bool admit_faults() noexcept {
  if (!Handler::instance().is_in_place()) return false;
  FaultScope* const scope = thread_faults.scope.get();
  if (scope == nullptr || scope == always) return scope == always;
  if (!scope->admits_) scope->unblock();
  return scope->admits_;
}

bool are_faults_admitted() noexcept {
  if (!Handler::instance().is_in_place()) return false;
  FaultScope const* const scope = thread_faults.scope.get();
  if (scope == always || (scope != nullptr && scope->admits_)) return true;
  sigset_t blocked;
  if (::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0) return false;
  return ::sigismember(&blocked, SIGSEGV) == 0 && ::sigismember(&blocked, SIGBUS) == 0;
}

// Not inlined, because variables of the caller must not live across a second return of sigsetjmp().
[[gnu::noinline]] bool detail::run_guarded(FaultRange range, void (*access)(void*), void* argument,
                                           std::uintptr_t* fault) noexcept {
  Recovery recovery;
  std::uintptr_t const page = page_size();
  recovery.first = range.begin & ~(page - 1);
  recovery.last = (range.end - 1) | (page - 1);
  recovery.outer = thread_faults.recovery;
  if (sigsetjmp(recovery.place, 0) == 0) [[likely]] {
    thread_faults.recovery = &recovery;
    // The handler runs in this thread, so only the compiler must keep the order.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    access(argument);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_faults.recovery = recovery.outer;
    return true;
  }
  thread_faults.recovery = recovery.outer;
  *fault = recovery.fault;
  return false;
}

}  // namespace mpixrma::engine
