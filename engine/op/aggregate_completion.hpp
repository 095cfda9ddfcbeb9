/// One completion for several operations: called when the last of them is complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <new>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

class AggregateCompletion {
 public:
  /// `pending` counts the objects that have not called their completion. Returns nullptr without memory.
  static AggregateCompletion* open(Completion& whole, std::atomic<std::size_t>* pending = nullptr) noexcept
      try {
    return new AggregateCompletion(whole, pending);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }

  /// Adds one more operation to wait for, and returns its completion, which is called once. Returns nullptr
  /// if there is no memory. Not to be called when all operations, and close(), may have ended.
  Completion* add() noexcept try {
    std::lock_guard const held(adding_);
    Part& part = parts_.emplace_back();
    part.aggregate = this;
    part.done = [](Completion& self, Status status, std::size_t) noexcept {
      static_cast<Part&>(self).aggregate->end(status);
    };
    missing_.fetch_add(1, std::memory_order_relaxed);
    return &part;
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  /// Adds the status of an operation that has ended already. The first failure is that of the whole.
  void record(Status status) noexcept {
    Status none = Status::ok;
    first_.compare_exchange_strong(none, status, std::memory_order_relaxed);
  }
  /// Ends the addition of operations. Afterwards the object may be destroyed.
  void close() noexcept { end(Status::ok); }

 private:
  struct Part : Completion {
    AggregateCompletion* aggregate = nullptr;
  };

  AggregateCompletion(Completion& whole, std::atomic<std::size_t>* pending)
      : whole_(whole), pending_(pending) {
    if (pending_ != nullptr) pending_->fetch_add(1, std::memory_order_relaxed);
  }

  void end(Status status) noexcept {
    record(status);
    // Acquire-release: the thread that ends the last part sees the results of all others.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::unique_ptr<AggregateCompletion> const owned(this);
    whole_.done(whole_, first_.load(std::memory_order_relaxed), 0);
    // Release: pairs with the acquire of a thread that waits until none is pending.
    if (pending_ != nullptr) pending_->fetch_sub(1, std::memory_order_release);
  }

  Completion& whole_;
  std::atomic<std::size_t>* pending_;
  std::mutex adding_;  ///< protects `parts_`
  std::deque<Part> parts_;
  std::atomic<std::size_t> missing_{1};  ///< parts, and close()
  std::atomic<Status> first_{Status::ok};
};

}  // namespace mpixrma::engine
