/// Waits whose end no event announces, checked during progress: for a counter that others increment, possibly
/// by a store of another process, and for the completion of operations to a peer.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/base/text.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

class Peer;

class Watches {
 public:
  /// The operations issued to a peer so far.
  struct Operations {
    Peer* peer;
    std::uint64_t sequence;  ///< sequence of the newest message
    std::uint64_t transfer;  ///< number of the newest unordered transfer
    bool local;              ///< only the buffers must be reusable
    std::uint32_t context;   ///< context whose failure is reported
    LateError* error;        ///< if not null, receives that failure before the completion is called
  };

  /// `index` is the counter's index for describe(), or EngineCounters::no_index. Returns the number of the
  /// wait.
  std::uint64_t add(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion,
                    std::int64_t index);
  /// Calls `completion` at once if the operations are complete, or if memory is exhausted.
  void add(Operations const& operations, Completion& completion) noexcept;

  /// Calls the completions of ended waits. Returns their number.
  int check() { return waiting_.load(std::memory_order_relaxed) == 0 ? 0 : check_all(); }

  /// Calls the completions of all waits for operations that have ended: they take the failures that they
  /// report.
  void settle() {
    if (waiting_.load(std::memory_order_relaxed) != 0) settle_operations();
  }

  /// Ends the waits for counters in [begin, end), with Status::bad_address if the threshold is not reached.
  void forget(void const* begin, void const* end);
  /// Removes the wait for a counter with this number. Returns its completion, or nullptr if it has ended.
  Completion* cancel(std::uint64_t number);

  /// Describes the counters and their values as text.
  void describe(BoundedText& text);

 private:
  struct Watch {
    Completion* completion;
    std::size_t bytes;  ///< passed to the completion
    Status status = Status::ok;
    bool due = false;
  };
  struct CounterWatch : Watch {
    std::uint64_t const* counter;
    std::uint64_t threshold;
    std::uint64_t number;
    std::int64_t index;
  };
  struct OperationsWatch : Watch {
    Operations operations;
  };

  int check_all();
  void settle_operations();
  template <typename Any, typename Look>
  int complete_ended(std::vector<Any>& watches, Look look);

  std::atomic<std::size_t> waiting_{0};
  std::mutex lock_;
  std::uint64_t newest_number_ = 0;
  std::vector<CounterWatch> counters_;
  std::vector<OperationsWatch> operations_;
};

}  // namespace mpixrma::engine
