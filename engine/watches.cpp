#include "engine/watches.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace mpix::engine {

void Watches::add(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion) {
  std::lock_guard const held(lock_);
  watches_.push_back({counter, threshold, &completion});
  waiting_.store(watches_.size(), std::memory_order_relaxed);
}

int Watches::check_all() {
  return settle(
      [](Watch const& watch) { return __atomic_load_n(watch.counter, __ATOMIC_ACQUIRE) >= watch.threshold; },
      Status::ok);
}

void Watches::forget(void const* begin, void const* end) {
  auto const inside = [&](Watch const& watch) {
    void const* const counter = watch.counter;
    return !std::less<>{}(counter, begin) && std::less<>{}(counter, end);
  };
  settle(inside, Status::bad_address);
}

/// Takes out those that are due and tells them, without the lock: they may be reused at once.
template <typename Predicate>
int Watches::settle(Predicate due, Status status) {
  std::vector<Watch> ready;
  {
    std::lock_guard const held(lock_);
    auto const first = std::stable_partition(watches_.begin(), watches_.end(),
                                             [&](Watch const& watch) { return !due(watch); });
    ready.assign(first, watches_.end());
    watches_.erase(first, watches_.end());
    waiting_.store(watches_.size(), std::memory_order_relaxed);
  }
  for (Watch const& watch : ready) watch.completion->done(*watch.completion, status, sizeof(std::uint64_t));
  return static_cast<int>(ready.size());
}

}  // namespace mpix::engine
