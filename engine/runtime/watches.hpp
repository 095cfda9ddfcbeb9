/// Who waits for what no event announces, during progress: that a counter which others increment, maybe by a
/// store of another process, has got somewhere, and that what was issued to a peer is complete. They are
/// looked at only while somebody waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/base/text.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

class Peer;

class Watches {
 public:
  /// What was issued to a peer so far.
  struct Operations {
    Peer* peer;
    std::uint64_t sequence;  ///< of the newest message
    std::uint64_t rdma;      ///< number of the newest operation by UCX put and get
    bool local;              ///< only the buffers have to be free
    std::uint32_t context;   ///< whose failure is told
  };

  void add(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion);
  /// Tells `completion` at once where they are complete, and where there is no memory.
  void add(Operations const& operations, Completion& completion) noexcept;

  /// Tells those who have waited long enough. Returns how many.
  int check() { return waiting_.load(std::memory_order_relaxed) == 0 ? 0 : check_all(); }

  void forget(void const* begin, void const* end);

  /// The counters and their values, as text.
  void describe(BoundedText& text);

 private:
  struct Watch {
    Completion* completion;
    std::size_t bytes;
    Status status = Status::ok;
    bool due = false;
  };
  struct CounterWatch : Watch {
    std::uint64_t const* counter;
    std::uint64_t threshold;
  };
  struct OperationsWatch : Watch {
    Operations operations;
  };

  int check_all();
  template <typename Any, typename Look>
  int settle(std::vector<Any>& watches, Look look);

  std::atomic<std::size_t> waiting_{0};
  std::mutex lock_;
  std::vector<CounterWatch> counters_;
  std::vector<OperationsWatch> operations_;
};

}  // namespace mpixrma::engine
