/// Detection of live processes.
#include "engine/base/liveness.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/child.hpp"

namespace mpixrma::engine {
namespace {

using test::Child;

/// Whether `pid` ends within 20 seconds.
bool ends_soon(pid_t pid) {
  for (int i = 0; i < 20000; ++i) {
    if (!process_is_alive(pid)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(Liveness, RunningProcessIsAlive) {
  EXPECT_TRUE(process_is_alive(::getpid()));
  EXPECT_TRUE(process_is_alive(1));
  Child const child([] {});
  EXPECT_TRUE(process_is_alive(child.pid()));
}

TEST(Liveness, KilledProcessIsDeadBeforeAndAfterReaping) {
  Child child([] {});
  child.kill();
  EXPECT_TRUE(ends_soon(child.pid()));
  EXPECT_NE(start_time_of(child.pid()), 0u);
  child.reap();
  EXPECT_FALSE(process_is_alive(child.pid()));
  EXPECT_EQ(start_time_of(child.pid()), 0u);
}

TEST(Liveness, StoppedProcessIsAlive) {
  Child child([] {});
  child.stop();
  EXPECT_TRUE(process_is_alive(child.pid()));
}

TEST(Liveness, ProcessIsAliveAfterEndOfItsFirstThread) {
  Child const child([] { std::thread([] { ::pause(); }).detach(); }, Child::Then::end_first_thread);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(process_is_alive(child.pid()));
}

TEST(Liveness, ParsesStateDespiteMisleadingProcessName) {
  Child const child([] { ::prctl(PR_SET_NAME, "a) Z 1 (b"); });
  EXPECT_TRUE(process_is_alive(child.pid()));
  EXPECT_GE(start_time_of(child.pid()), start_time_of(::getpid()));
}

TEST(Liveness, StartTimeOfProcessIsConstant) {
  std::uint64_t const mine = start_time_of(::getpid());
  EXPECT_NE(mine, 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(start_time_of(::getpid()), mine);
  Child const child([] {});
  EXPECT_GT(start_time_of(child.pid()), mine);
}

TEST(Liveness, ForkedProcessHasItsOwnId) {
  EXPECT_EQ(own_process_id(), ::getpid());
  test::Shared<std::atomic<pid_t>> id;
  Child const child([&] { id->store(own_process_id()); });
  EXPECT_EQ(id->load(), child.pid());
}

}  // namespace
}  // namespace mpixrma::engine
