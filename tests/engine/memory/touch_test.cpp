// Probing memory that may not be mapped: the results, and the preservation of the program's own handlers.
#include "engine/memory/touch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "engine/memory/fault_guard.hpp"
#include "engine/memory/probe.hpp"
#include "tests/support/pages.hpp"

namespace mpixrma::engine {
namespace {

/// Pages with individual access rights: 'w', 'r', or ' ' for none.
class PagesOfRights {
 public:
  explicit PagesOfRights(std::string_view rights) : bytes_(rights.size() * page) {
    base_ = static_cast<std::byte*>(
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i < rights.size(); ++i) {
      if (rights[i] == 'r') ::mprotect(base_ + i * page, page, PROT_READ);
      if (rights[i] == ' ') ::mprotect(base_ + i * page, page, PROT_NONE);
    }
  }
  ~PagesOfRights() { ::munmap(base_, bytes_); }
  std::byte* operator[](std::size_t index) const { return base_ + index * page; }

 private:
  std::byte* base_;
  std::size_t bytes_;
};

bool touched(std::byte* begin, std::size_t bytes, Access access) {
  auto const at = reinterpret_cast<std::uintptr_t>(begin);
  return touch(at, at + bytes, page, access) == Touched::all;
}

TEST(Touch, DetectsAccessibleMemory) {
  PagesOfRights const pages("wwr ");
  EXPECT_TRUE(touched(pages[0], 1, Access::write));
  EXPECT_TRUE(touched(pages[0] + page - 4, 8, Access::write));
  EXPECT_TRUE(touched(pages[0] + 8, 3 * page - 8, Access::read));
  EXPECT_FALSE(touched(pages[1] + page - 4, 8, Access::write)) << "into memory that is only read";
  EXPECT_FALSE(touched(pages[2] + page - 4, 8, Access::read)) << "into memory that nobody may touch";
  EXPECT_FALSE(touched(nullptr, 8, Access::read));
  EXPECT_FALSE(touched(pages[0], 4 * page, Access::read));
}

TEST(Touch, RejectsNonCanonicalAddresses) {
  for (std::uintptr_t const at :
       {std::uintptr_t{1} << 60, std::uintptr_t{1} << 63, ~std::uintptr_t{0} - 64}) {
    EXPECT_EQ(touch(at, at + 8, page, Access::write), Touched::not_all);
    EXPECT_EQ(touch(at, at + 8, page, Access::read), Touched::not_all);
  }
}

TEST(Touch, FindsTheEndOfAMappedFile) {
  int const file = ::memfd_create("touch", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(page)), 0);
  auto* const base =
      static_cast<std::byte*>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  EXPECT_TRUE(touched(base, page, Access::write));
  EXPECT_FALSE(touched(base + page, 8, Access::write)) << "SIGBUS";
  EXPECT_FALSE(touched(base + page, 8, Access::read));
  ::munmap(base, 2 * page);
  ::close(file);
}

TEST(Touch, PreservesConcurrentUpdates) {
  constexpr int updates = 200000;
  PagesOfRights const pages("w");
  auto* const counter = new (pages[0]) std::atomic<std::uint64_t>(0);
  std::atomic<bool> done{false};
  std::thread toucher([&] {
    while (!done.load()) EXPECT_TRUE(touched(pages[0], 8, Access::write));
  });
  for (int i = 0; i < updates; ++i) counter->fetch_add(1);
  done = true;
  toucher.join();
  EXPECT_EQ(counter->load(), std::uint64_t{updates});
}

TEST(Touch, IsSkippedInThreadThatBlocksFaults) {
  PagesOfRights const pages("wr");
  std::thread blocking([&] {
    sigset_t faults;
    ::sigfillset(&faults);
    ::pthread_sigmask(SIG_SETMASK, &faults, nullptr);
    auto const at = reinterpret_cast<std::uintptr_t>(pages[1]);
    EXPECT_EQ(touch(at, at + 8, page, Access::write), Touched::unknown);
    EXPECT_FALSE(accessible(pages[1], 8, Access::write)) << "asks the system";
    EXPECT_TRUE(accessible(pages[0], 8, Access::write));
  });
  blocking.join();
}

TEST(Touch, FollowsSignalMaskThatChanges) {
  PagesOfRights const pages("wr ");
  std::thread changing([&] {
    sigset_t faults;
    ::sigemptyset(&faults);
    for (int const signal : {SIGSEGV, SIGBUS}) {
      for (int round = 0; round < 100; ++round) {
        EXPECT_TRUE(touched(pages[0], 8, Access::write));
        ::sigaddset(&faults, signal);
        ::pthread_sigmask(SIG_BLOCK, &faults, nullptr);
        EXPECT_FALSE(accessible(pages[1], 8, Access::write));
        EXPECT_FALSE(accessible(pages[2], 8, Access::read));
        EXPECT_TRUE(accessible(pages[0], 8, Access::write));
        ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
        EXPECT_FALSE(touched(pages[2], 8, Access::read));
        ::sigemptyset(&faults);
      }
    }
  });
  changing.join();
}

/// Whether an earlier touch of the bytes is remembered: the thread blocks faults, so it touches known pages
/// only.
bool are_known(std::byte* begin, std::size_t bytes, Access access) {
  sigset_t faults;
  sigset_t before;
  ::sigemptyset(&faults);
  ::sigaddset(&faults, SIGSEGV);
  ::pthread_sigmask(SIG_BLOCK, &faults, &before);
  bool const known = touched(begin, bytes, access);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return known;
}

TEST(Touch, CachesNeighbouringPages) {
  PagesOfRights const pages("wwwww w ");
  EXPECT_TRUE(touched(pages[1] + page - 8, 16, Access::write));
  EXPECT_TRUE(are_known(pages[1], 2 * page, Access::write)) << "both pages of a range";
  EXPECT_TRUE(are_known(pages[1], 2 * page, Access::read)) << "can be read, too";
  EXPECT_FALSE(are_known(pages[3], 8, Access::write));
  EXPECT_TRUE(touched(pages[3], 8, Access::write));
  EXPECT_TRUE(touched(pages[0], 8, Access::write));
  EXPECT_TRUE(are_known(pages[0], 4 * page, Access::write)) << "those on both sides were added";
  EXPECT_FALSE(are_known(pages[0], 5 * page, Access::write));
  EXPECT_TRUE(touched(pages[6], 8, Access::read));
  EXPECT_TRUE(are_known(pages[6], 8, Access::read));
  EXPECT_FALSE(are_known(pages[6], 8, Access::write)) << "was only read";
  EXPECT_TRUE(are_known(pages[0], 4 * page, Access::write)) << "those that were written are kept apart";
  EXPECT_TRUE(touched(pages[6], 8, Access::write));
  EXPECT_FALSE(are_known(pages[0], 8, Access::write)) << "others took their place";
  EXPECT_FALSE(touched(pages[7], 8, Access::read));
  EXPECT_FALSE(are_known(pages[6], 8, Access::write)) << "nothing after a fault";
}

TEST(Touch, CachesBoundedNumberOfPages) {
  constexpr std::size_t most = 4096;
  PagesOfRights const pages(std::string(most + 2, 'w'));
  for (std::size_t i = 0; i < most; ++i) ASSERT_TRUE(touched(pages[i], 8, Access::write));
  EXPECT_TRUE(are_known(pages[0], most * page, Access::write));
  EXPECT_TRUE(touched(pages[most] - 8, 16, Access::write));
  EXPECT_TRUE(are_known(pages[most - 1], 2 * page, Access::write));
  EXPECT_FALSE(are_known(pages[most - 2], 8, Access::write));
  EXPECT_FALSE(are_known(pages[most + 1], 8, Access::write));
}

TEST(FaultGuard, UnblocksSignalsOfThreadAndBlocksThemAgain) {
  PagesOfRights const pages("r");
  std::thread blocking([&] {
    sigset_t mask;
    ::sigfillset(&mask);
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    EXPECT_FALSE(admit_faults()) << "outside of a scope";
    for (int round = 0; round < 1000; ++round) {
      FaultScope const scope;
      FaultScope const inner;
      ASSERT_TRUE(admit_faults());
      auto const at = reinterpret_cast<std::uintptr_t>(pages[0]) + 24;
      auto const fault =
          run_guarded({at, at + 8}, [at] { *reinterpret_cast<std::uint64_t volatile*>(at) = 1; });
      ASSERT_TRUE(fault.has_value());
      EXPECT_EQ(*fault, at);
    }
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    EXPECT_TRUE(::sigismember(&mask, SIGSEGV) == 1 && ::sigismember(&mask, SIGBUS) == 1);
  });
  blocking.join();
}

/// The handler that was in place when the test installed one, as signal() returns it.
void (*chained)(int) = nullptr;
int calls = 0;

/// Calls `chained` as if with one argument: its second and third parameters have arbitrary values.
void pass_one_argument(int signal) {
  using Three = void (*)(int, void*, void*);
  ++calls;
  std::uint64_t garbage[64] = {};
  void* const second[] = {nullptr, reinterpret_cast<void*>(8), garbage, garbage + 32};
  void* const third[] = {reinterpret_cast<void*>(1), garbage, reinterpret_cast<void*>(~std::uintptr_t{0}),
                         garbage};
  int const which = calls % 4;
  reinterpret_cast<Three>(reinterpret_cast<void (*)()>(chained))(signal, second[which], third[which]);
}

TEST(Touch, WorksBehindHandlerThatPassesOneArgument) {
  PagesOfRights const pages("wr ");
  EXPECT_FALSE(touched(pages[2], 8, Access::read)) << "the handler is in place";
  chained = ::signal(SIGSEGV, pass_one_argument);
  calls = 0;
  for (int round = 0; round < 1000; ++round) {
    EXPECT_FALSE(touched(pages[2], 8, Access::read));
    EXPECT_FALSE(touched(pages[1], 8, Access::write));
    EXPECT_TRUE(touched(pages[0], 8, Access::write));
  }
  EXPECT_EQ(calls, 2000);
  ::signal(SIGSEGV, chained);  // with one argument
  EXPECT_FALSE(touched(pages[1], 8, Access::write));
  struct sigaction present {};
  ::sigaction(SIGSEGV, nullptr, &present);
  present.sa_flags |= SA_SIGINFO;
  ::sigaction(SIGSEGV, &present, nullptr);
  EXPECT_FALSE(touched(pages[1], 8, Access::write));
}

void fault() {
  PagesOfRights const pages(" ");
  *static_cast<std::byte volatile*>(pages[0]) = std::byte{1};
}

TEST(TouchDeathTest, ForwardsFaultsOfTheProgram) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  auto const touch_first = [] { EXPECT_FALSE(touched(nullptr, 8, Access::write)); };
  auto const leave = [](int) { ::_exit(7); };
  auto const leave_with_place = [](int, siginfo_t* info, void*) {
    ::_exit(info->si_addr != nullptr ? 8 : 1);
  };
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, leave);
        touch_first();
        fault();
      },
      ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_sigaction = leave_with_place;
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGSEGV, &action, nullptr);
        touch_first();
        fault();
      },
      ::testing::ExitedWithCode(8), "");
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, SIG_DFL);
        touch_first();
        fault();
      },
      ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, SIG_DFL);
        touch_first();
        ::raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, SIG_DFL);
        touch_first();
        chained = ::signal(SIGSEGV, pass_one_argument);
        fault();
      },
      ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, SIG_DFL);
        touch_first();
        chained = ::signal(SIGSEGV, pass_one_argument);
        ::raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace mpixrma::engine
