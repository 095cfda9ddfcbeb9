#include "nam/client/lease_keeper.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <vector>

#include "engine/base/service_thread.hpp"

namespace mpixrma::nam {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int renewals_in_a_lease = 4;  ///< so that one or two renewals may be late

class Keeper {
 public:
  Keeper() {
    engine::start_service_thread([this] { run(); }).detach();
  }

  void add(std::shared_ptr<GuardedChannel> const& session, std::chrono::seconds lease) {
    std::lock_guard const held(mutex_);
    auto const interval = std::chrono::milliseconds(lease) / renewals_in_a_lease;
    entries_.push_back({session, interval, Clock::now() + interval});
    changed_.notify_one();
  }

 private:
  struct Entry {
    std::weak_ptr<GuardedChannel> session;
    std::chrono::milliseconds interval;
    Clock::time_point due;
  };

  [[noreturn]] void run() {
    std::unique_lock held(mutex_);
    for (;;) {
      auto next = Clock::time_point::max();
      auto const now = Clock::now();
      std::erase_if(entries_, [&](Entry& entry) {
        if (entry.due > now) {
          next = std::min(next, entry.due);
          return entry.session.expired();
        }
        entry.due = now + entry.interval;
        next = std::min(next, entry.due);
        return !renew(entry.session);
      });
      if (entries_.empty()) {
        changed_.wait(held);
      } else {
        changed_.wait_until(held, next);
      }
    }
  }

  /// Returns false if the session has ended. Does not queue another message while the server does not read.
  static bool renew(std::weak_ptr<GuardedChannel> const& session) {
    auto const guarded = session.lock();
    if (!guarded) return false;
    std::lock_guard const held(guarded->mutex);
    // A program that computes sends nothing itself, not even what its last call has left.
    if (!guarded->channel.flush()) return false;
    if (guarded->channel.has_output()) return true;
    guarded->channel.post({{"op", "renew"}, {"quiet", true}});
    return guarded->channel.flush();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
};

}  // namespace

void keep_lease(std::shared_ptr<GuardedChannel> const& session, std::chrono::seconds lease) {
  // Never destroyed, because its thread runs until the process ends. A child of fork() inherits the object
  // but not the thread.
  static std::mutex mutex;
  static Keeper* keeper = nullptr;
  static pid_t process = 0;
  std::lock_guard const held(mutex);
  if (process != ::getpid()) keeper = new Keeper;
  process = ::getpid();
  keeper->add(session, lease);
}

}  // namespace mpixrma::nam
