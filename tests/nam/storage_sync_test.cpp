/// Waiting for the disk while an event loop goes on. The disk is simulated: a test decides when a sync ends.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "nam/data/storage_sync.hpp"

namespace mpixrma::nam {
namespace {

/// Each call of let_go() lets one sync end.
class HeldDisk {
 public:
  void sync() {
    std::unique_lock held(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(held, [this] { return permits_ != 0; });
    --permits_;
    if (fails_) throw Error(ErrorCode::internal, "the disk is broken");
  }
  void let_go() {
    std::lock_guard const held(mutex_);
    ++permits_;
    changed_.notify_all();
  }
  void await_begun(int count) {
    std::unique_lock held(mutex_);
    changed_.wait(held, [&] { return begun_ >= count; });
  }
  void fail(bool value) {
    std::lock_guard const held(mutex_);
    fails_ = value;
  }
  int begun() {
    std::lock_guard const held(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  int permits_ = 0;
  bool fails_ = false;
};

class StorageSyncTest : public ::testing::Test {
 protected:
  /// The outcome of the request is appended to `answers`.
  void request(std::string const& name) {
    sync.request([this, name](Error const* failure) {
      answers.push_back(name + (failure == nullptr ? "" : std::string(": ") + failure->what()));
      if (answers.size() == expected) loop.stop();
    });
  }
  void run_until_answered(std::size_t count) {
    expected = count;
    loop.run();
  }

  EventLoop loop;
  HeldDisk disk;
  StorageSync sync{loop, [this] { disk.sync(); }};
  std::vector<std::string> answers;
  std::size_t expected = 0;
};

TEST_F(StorageSyncTest, LoopContinuesDuringSlowSync) {
  request("one");
  int turns = 0;
  std::size_t answered_before = 0;
  loop.every(std::chrono::milliseconds(1), [&] {
    if (++turns != 20) return;
    answered_before = answers.size();
    disk.let_go();
  });
  run_until_answered(1);
  EXPECT_GE(turns, 20);
  EXPECT_EQ(answered_before, 0u);
  EXPECT_EQ(answers, std::vector<std::string>{"one"});
}

/// A sync need not include data that were written after it had begun.
TEST_F(StorageSyncTest, RequestsDuringSyncShareTheNextSync) {
  request("one");
  disk.await_begun(1);
  request("two");
  request("three");
  disk.let_go();
  disk.let_go();
  run_until_answered(3);
  EXPECT_EQ(disk.begun(), 2);
  EXPECT_EQ(answers, (std::vector<std::string>{"one", "two", "three"}));
}

/// The system reports a failed write only once, and the page may belong to any of these requests.
TEST_F(StorageSyncTest, FailureAppliesToRequestsDuringSync) {
  disk.fail(true);
  request("one");
  disk.await_begun(1);
  request("two");
  disk.let_go();
  run_until_answered(2);
  EXPECT_EQ(disk.begun(), 1);
  EXPECT_EQ(sync.failures(), 1u);
  EXPECT_EQ(answers, (std::vector<std::string>{"one: the disk is broken", "two: the disk is broken"}));
}

TEST(StorageSyncEnd, WaitsForRunningSync) {
  EventLoop loop;
  HeldDisk disk;
  std::atomic<bool> has_ended = false;
  std::thread releasing;
  {
    StorageSync sync(loop, [&] {
      disk.sync();
      has_ended = true;
    });
    sync.request([](Error const*) {});
    disk.await_begun(1);
    releasing = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      disk.let_go();
    });
  }
  EXPECT_TRUE(has_ended);
  releasing.join();
  EXPECT_EQ(disk.begun(), 1);
}

}  // namespace
}  // namespace mpixrma::nam
