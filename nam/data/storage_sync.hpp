/// Waits for the disk on a thread of its own, so that an event loop goes on meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "nam/process/event_loop.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

class StorageSync {
 public:
  /// `failure` is null after a success.
  using Done = std::function<void(Error const* failure)>;

  /// `sync` returns when all that was written before is on the disk, or throws Error; it runs on the thread.
  /// Throws Error(unavailable).
  StorageSync(EventLoop& loop, std::function<void()> sync);
  ~StorageSync();
  StorageSync(StorageSync const&) = delete;
  StorageSync& operator=(StorageSync const&) = delete;

  /// `done` is called in the event loop, after a sync that has begun after this call, or after an earlier one
  /// that fails: the system reports a failed write only once, so a failed sync also fails the requests that
  /// were made while it ran.
  void request(Done done);
  /// Syncs that have failed. What was written before a failure and is not synced yet may be lost.
  std::uint64_t failures() const noexcept { return failures_; }

 private:
  void begin();
  void work();
  void end();

  EventLoop& loop_;
  std::function<void()> sync_;
  engine::FileDescriptor finished_;  ///< an event for the loop
  std::vector<Done> waiting_;        ///< for the next sync
  std::vector<Done> running_;
  std::uint64_t failures_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool due_ = false;
  bool ending_ = false;
  std::optional<Error> failure_;  ///< of the sync that has finished
  std::thread thread_;
};

}  // namespace mpixrma::nam
