/// A thread that prefaults the page tables of mapped regions of other processes while accesses fault in them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/shared_memory.hpp"
#include "engine/origin/prefaulted_region.hpp"

namespace mpixrma::engine {

/// The thread starts with the first region, and sleeps while the process has few page faults. Its run
/// time is at most twice the time during which the process took faults.
class PagePrefaulter {
 public:
  /// Regions with a segment of at least this size are worth a thread.
  static constexpr std::size_t worthwhile_bytes = 1024 * 1024;

  PagePrefaulter() = default;
  ~PagePrefaulter();
  PagePrefaulter(PagePrefaulter const&) = delete;
  PagePrefaulter& operator=(PagePrefaulter const&) = delete;

  /// A watched region. end() waits while a chunk of any region is being prefaulted.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept
        : prefaulter_(std::exchange(other.prefaulter_, nullptr)), place_(other.place_) {}
    Watch& operator=(Watch&& other) noexcept {
      std::swap(prefaulter_, other.prefaulter_);
      std::swap(place_, other.place_);
      return *this;
    }
    ~Watch() { end(); }

    void end() noexcept;
    /// The owner has allocated memory in the region: pages may have been removed from the page tables.
    void renew() noexcept;
    explicit operator bool() const noexcept { return prefaulter_ != nullptr; }

   private:
    friend class PagePrefaulter;
    Watch(PagePrefaulter& prefaulter, std::list<PrefaultedRegion>::iterator place)
        : prefaulter_(&prefaulter), place_(place) {}

    PagePrefaulter* prefaulter_ = nullptr;
    std::list<PrefaultedRegion>::iterator place_;
  };

  /// Returns an empty Watch if the system does not permit prefaulting, or if memory is short. `mapping` must
  /// be mapped until the watch ends.
  Watch watch(Mapping const& mapping);

 private:
  using Clock = std::chrono::steady_clock;

  std::unique_lock<std::mutex> lock_with_priority();
  bool start();
  void run();
  bool is_anything_left() const noexcept;
  bool prefault_until(Clock::time_point end, std::unique_lock<std::mutex>& held);
  void yield_lock(std::unique_lock<std::mutex>& held);

  std::mutex lock_;  ///< held while a chunk is prefaulted
  std::condition_variable changed_;
  std::atomic<unsigned> waiting_{0};  ///< number of threads that want the lock
  std::list<PrefaultedRegion> regions_;
  FileDescriptor pagemap_;
  bool unsupported_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mpixrma::engine
