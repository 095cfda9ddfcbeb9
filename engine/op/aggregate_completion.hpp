/// One completion for several operations: called when the last of them is complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>

#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// The target of one of several operations.
struct AggregatedTarget {
  int rank = LateError::unknown;
  std::uint64_t process = 0;     ///< engine's identity, if the caller needs it
  void const* object = nullptr;  ///< the caller's own
  int error = 0;                 ///< caller's code of the failure, if the status does not give it
};

class AggregateCompletion {
 public:
  /// The completion of one operation, which is called once.
  struct Part : Completion {
    AggregateCompletion* aggregate = nullptr;
    AggregatedTarget target;
    LateError error;  ///< for EngineOrder::watch(): the operation that failed, if the part stands for several
  };

  /// The first operation that failed.
  struct FirstFailure {
    AggregatedTarget target;
    LateError error;  ///< status ok: only the status of the whole is known
  };

  /// `pending` counts the objects that have not called their completion. `first` receives the first failure,
  /// before the completion is called. Returns nullptr if there is no memory.
  static AggregateCompletion* open(Completion& whole, std::atomic<std::size_t>* pending = nullptr,
                                   FirstFailure* first = nullptr) noexcept try {
    return new AggregateCompletion(whole, pending, first);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }

  /// Adds one more operation to wait for. Returns nullptr if there is no memory. Must not be called once
  /// close() has been called and all operations may have ended.
  Part* add(AggregatedTarget const& target = {}) noexcept try {
    std::lock_guard const held(adding_);
    Part& part = parts_.emplace_back();
    part.aggregate = this;
    part.target = target;
    part.done = [](Completion& self, Status status, std::size_t) noexcept {
      Part const& ended = static_cast<Part&>(self);
      ended.aggregate->end(status, ended);
    };
    missing_.fetch_add(1, std::memory_order_relaxed);
    return &part;
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  /// Adds the status of an operation that has ended already. The first failure is the status of the whole.
  void record(Status status, AggregatedTarget const& target = {}) noexcept { record(status, target, {}); }
  /// Ends the addition of operations. The object destroys itself when the last of them has ended.
  void close() noexcept { end(); }

 private:
  AggregateCompletion(Completion& whole, std::atomic<std::size_t>* pending, FirstFailure* first)
      : whole_(whole), pending_(pending), first_(first) {
    if (pending_ != nullptr) pending_->fetch_add(1, std::memory_order_relaxed);
  }

  void record(Status status, AggregatedTarget const& target, LateError const& error) noexcept {
    Status none = Status::ok;
    if (!failed(status) || !status_.compare_exchange_strong(none, status, std::memory_order_relaxed)) return;
    // Only one thread gets here. The thread that ends the last part calls `whole_`, which may read `*first_`.
    if (first_ != nullptr) *first_ = {target, error};
  }

  void end(Status status, Part const& part) noexcept {
    record(status, part.target, part.error);
    end();
  }

  void end() noexcept {
    // Acquire-release: the thread that ends the last part sees the results of all others.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::unique_ptr<AggregateCompletion> const owned(this);
    whole_.done(whole_, status_.load(std::memory_order_relaxed), 0);
    // Release: pairs with the acquire of a thread that waits until none is pending.
    if (pending_ != nullptr) pending_->fetch_sub(1, std::memory_order_release);
  }

  Completion& whole_;
  std::atomic<std::size_t>* pending_;
  FirstFailure* first_;
  std::mutex adding_;  ///< protects `parts_`
  std::deque<Part> parts_;
  std::atomic<std::size_t> missing_{1};  ///< parts that have not ended, plus 1 until close()
  std::atomic<Status> status_{Status::ok};
};

}  // namespace mpixrma::engine
