/// Scopes of guarded accesses in short succession: they ask for the signal mask once, and notice each change.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>

#include "engine/memory/fault_guard.hpp"
#include "engine/memory/mask_change.hpp"

namespace {

std::atomic<int> changes{0};
std::atomic<std::chrono::microseconds> least_duration{std::chrono::microseconds{0}};

}  // namespace

/// Takes as long as on a machine with slow system calls.
extern "C" __attribute__((visibility("default"))) int pthread_sigmask(int how, sigset_t const* mask,
                                                                      sigset_t* before) noexcept {
  auto const end = std::chrono::steady_clock::now() + least_duration.load();
  changes.fetch_add(1);
  long const result = ::syscall(SYS_rt_sigprocmask, how, mask, before, 8);
  while (std::chrono::steady_clock::now() < end) {
  }
  return result == 0 ? 0 : EINVAL;
}

namespace mpixrma::engine {
namespace {

using namespace std::chrono_literals;

TEST(MaskChange, IsBoundedByHalfOfTheShortestOfSixteen) {
  MaskChange change;
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(change.is_unknown());
    EXPECT_EQ(change.bound(), 0);
    change.note(i == 7 ? 2'000ns : 3'000ns);
  }
  EXPECT_FALSE(change.is_unknown());
  EXPECT_EQ(change.bound(), 1'000);
}

TEST(MaskChange, IsNotBoundedIfSystemCallsAreFast) {
  MaskChange change;
  for (int i = 0; i < 16; ++i) change.note(150ns);
  EXPECT_FALSE(change.is_unknown());
  EXPECT_EQ(change.bound(), 0);
}

sigset_t fault_signals() {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGSEGV);
  ::sigaddset(&mask, SIGBUS);
  return mask;
}

bool is_blocked() {
  sigset_t mask;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, 8);
  return ::sigismember(&mask, SIGSEGV) == 1;
}

class SignalMask : public testing::Test {
 protected:
  void SetUp() override {
    least_duration = 5'000us;  // longer than the thread of a loaded machine is usually interrupted
    for (int i = 0; i < 16; ++i) use_scope();
  }
  void TearDown() override {
    least_duration = 0us;
    ::munmap(page_, page_bytes);
  }

  /// Faults within a scope.
  void use_scope() const {
    FaultScope const scope;
    ASSERT_TRUE(admit_faults());
    auto const at = reinterpret_cast<std::uintptr_t>(page_);
    auto const fault =
        run_guarded({at, at + 8}, [at] { *reinterpret_cast<std::uint64_t volatile*>(at) = 1; });
    ASSERT_TRUE(fault.has_value());
  }
  /// The least number of system calls in `scopes` successive scopes, of several attempts.
  int changes_in(int scopes) const {
    int least = scopes;
    for (int attempt = 0; attempt < 5; ++attempt) {
      int const before = changes;
      for (int i = 0; i < scopes; ++i) {
        FaultScope const scope;
        EXPECT_TRUE(admit_faults());
      }
      least = std::min(least, changes - before);
    }
    return least;
  }

  static constexpr std::size_t page_bytes = 4096;
  void* const page_ = ::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

TEST_F(SignalMask, IsQueriedOnceInSuccessiveScopes) { EXPECT_LE(changes_in(100), 1); }

TEST_F(SignalMask, IsQueriedAgainAfterPause) {
  use_scope();
  std::this_thread::sleep_for(2 * 5'000us);
  int const before = changes;
  FaultScope const scope;
  EXPECT_TRUE(admit_faults());
  EXPECT_EQ(changes - before, 1);
}

TEST_F(SignalMask, IsNoticedWhenItChangesRightAfterAScope) {
  sigset_t const faults = fault_signals();
  for (int round = 0; round < 20; ++round) {
    use_scope();
    ::pthread_sigmask(SIG_BLOCK, &faults, nullptr);
    use_scope();  // ends the process unless the scope unblocks the signals
    EXPECT_TRUE(is_blocked()) << "the scope has restored the mask";
    ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  }
}

TEST_F(SignalMask, OfOtherThreadsIsNotAssumed) {
  use_scope();
  sigset_t const faults = fault_signals();
  ::pthread_sigmask(SIG_BLOCK, &faults, nullptr);
  std::thread other([this] { use_scope(); });  // inherits the mask
  other.join();
  ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

}  // namespace
}  // namespace mpixrma::engine
