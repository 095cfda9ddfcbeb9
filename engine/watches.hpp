/// Who waits for counters that others increment. No event announces an increment by a store of another
/// process: the counters are looked at during progress, and only while somebody waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/operation.hpp"

namespace mpix::engine {

class Watches {
 public:
  void add(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion);

  /// Tells those whose counter has got there. Returns how many.
  int check() { return waiting_.load(std::memory_order_relaxed) == 0 ? 0 : check_all(); }

  void forget(void const* begin, void const* end);

 private:
  struct Watch {
    std::uint64_t const* counter;
    std::uint64_t threshold;
    Completion* completion;
  };

  int check_all();
  template <typename Predicate>
  int settle(Predicate due, Status status);

  std::atomic<std::size_t> waiting_{0};
  std::mutex lock_;
  std::vector<Watch> watches_;
};

}  // namespace mpix::engine
