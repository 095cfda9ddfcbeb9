#include "engine/origin/page_prefaulter.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <new>

#include "engine/base/service_thread.hpp"

namespace mpixrma::engine {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Page faults of a thread, one after the other, take 1 to 20 us each. Filling page tables pays off from one
// fault per 64 us on.
constexpr microseconds max_fault_interval{64};
// The first sleep, which grows while faults are few, and the first time slice of prefaulting, which grows
// while they are many.
constexpr milliseconds initial_interval{1};
constexpr milliseconds longest_slice{16};
constexpr milliseconds longest_sleep{256};

std::uint64_t minor_faults(int whose) noexcept {
  rusage usage{};
  return ::getrusage(whose, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_minflt) : 0;
}

/// Returns the number of page faults of the process's other threads.
std::uint64_t faults_of_others() noexcept { return minor_faults(RUSAGE_SELF) - minor_faults(RUSAGE_THREAD); }

}  // namespace

PagePrefaulter::~PagePrefaulter() {
  {
    std::lock_guard const held(lock_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

/// Takes the lock; a thread that prefaults yields the lock between two chunks.
std::unique_lock<std::mutex> PagePrefaulter::lock_with_priority() {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock held(lock_);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return held;
}

/// If memory is short, the region stays unwatched: prefaulting is never required.
PagePrefaulter::Watch PagePrefaulter::watch(Mapping const& mapping) try {
  auto const held = lock_with_priority();
  if (unsupported_ || !start()) return {};
  regions_.emplace_back(mapping.base(), mapping.length(), pagemap_.get());
  changed_.notify_one();
  return {*this, std::prev(regions_.end())};
} catch (std::bad_alloc const&) {
  return {};
}

void PagePrefaulter::Watch::renew() noexcept {
  if (prefaulter_ == nullptr) return;
  auto const held = prefaulter_->lock_with_priority();
  place_->renew();
  prefaulter_->changed_.notify_one();
}

void PagePrefaulter::Watch::end() noexcept {
  if (prefaulter_ == nullptr) return;
  auto const held = prefaulter_->lock_with_priority();
  prefaulter_->regions_.erase(place_);
  prefaulter_ = nullptr;
}

/// Starts the thread unless it runs. Returns whether it runs.
bool PagePrefaulter::start() {
  if (thread_.joinable()) return true;
  pagemap_ = FileDescriptor(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  unsupported_ = !pagemap_;
  if (unsupported_) return false;
  try {
    thread_ = start_service_thread([this] {
      pthread_setname_np(pthread_self(), "mpix-pages");
      run();
    });
  } catch (std::exception const&) {
    unsupported_ = true;
  }
  return !unsupported_;
}

bool PagePrefaulter::is_anything_left() const noexcept {
  return std::ranges::any_of(regions_, [](PrefaultedRegion const& region) { return !region.is_full(); });
}

void PagePrefaulter::run() {
  Clock::duration sleep = initial_interval;
  Clock::duration slice = initial_interval;
  std::unique_lock held(lock_);
  std::uint64_t seen = faults_of_others();
  auto since = Clock::now();
  while (!stopping_ && !unsupported_) {
    if (is_anything_left()) {
      changed_.wait_for(held, sleep);
    } else {
      changed_.wait(held);
      sleep = Clock::duration::zero();
    }
    std::uint64_t const faults = faults_of_others();
    auto const now = Clock::now();
    // A fault between the two counts makes their difference smaller.
    std::uint64_t const more = faults > seen ? faults - seen : 0;
    bool const many = more * max_fault_interval >= now - since;
    seen = faults;
    since = now;
    if (many && prefault_until(now + slice, held)) {
      sleep = Clock::duration::zero();  // the faults during this slice decide about the next one
      slice = std::min<Clock::duration>(2 * slice, longest_slice);
    } else {
      sleep = std::clamp<Clock::duration>(2 * sleep, initial_interval, longest_sleep);
      slice = initial_interval;
    }
  }
}

/// Visits each chunk at most once. Returns whether entries of page tables were added.
bool PagePrefaulter::prefault_until(Clock::time_point end, std::unique_lock<std::mutex>& held) {
  bool prefaulted = false;
  for (std::size_t left = regions_.size(); left != 0 && !regions_.empty(); --left) {
    // The next slice begins with the next region; this region continues later, where this slice ends.
    regions_.splice(regions_.end(), regions_, regions_.begin());
    for (std::size_t chunk = 0; !regions_.empty() && chunk < regions_.back().chunks(); ++chunk) {
      auto const step = regions_.back().step();
      prefaulted = prefaulted || step == PrefaultedRegion::Step::prefaulted;
      unsupported_ = step == PrefaultedRegion::Step::unsupported;
      if (unsupported_ || stopping_ || Clock::now() >= end) return prefaulted;
      yield_lock(held);
    }
  }
  return prefaulted;
}

void PagePrefaulter::yield_lock(std::unique_lock<std::mutex>& held) {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  held.unlock();
  while (waiting_.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
  held.lock();
}

}  // namespace mpixrma::engine
