/// One completion for several operations: called when the last of them is complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

class AggregateCompletion {
 public:
  /// `pending` counts the objects that have not called their completion. `failed_rank` receives the rank of
  /// the first operation that failed, before the completion is called. Returns nullptr without memory.
  static AggregateCompletion* open(Completion& whole, std::atomic<std::size_t>* pending = nullptr,
                                   int* failed_rank = nullptr) noexcept try {
    return new AggregateCompletion(whole, pending, failed_rank);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }

  /// Adds one more operation to wait for, to `rank`, and returns its completion, which is called once.
  /// Returns nullptr if there is no memory. Not to be called when all operations, and close(), may have
  /// ended.
  Completion* add(int rank = 0) noexcept try {
    std::lock_guard const held(adding_);
    Part& part = parts_.emplace_back();
    part.aggregate = this;
    part.rank = rank;
    part.done = [](Completion& self, Status status, std::size_t) noexcept {
      Part const& ended = static_cast<Part&>(self);
      ended.aggregate->end(status, ended.rank);
    };
    missing_.fetch_add(1, std::memory_order_relaxed);
    return &part;
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  /// Adds the status of an operation that has ended already. The first failure is that of the whole.
  void record(Status status, int rank = 0) noexcept {
    First none;
    if (failed(status)) first_.compare_exchange_strong(none, {status, {}, rank}, std::memory_order_relaxed);
  }
  /// Ends the addition of operations. Afterwards the object may be destroyed.
  void close() noexcept { end(Status::ok, 0); }

 private:
  struct Part : Completion {
    AggregateCompletion* aggregate = nullptr;
    int rank = 0;
  };
  /// The first failure. Without padding, because it is compared as a whole.
  struct First {
    Status status = Status::ok;
    std::uint8_t unused[3] = {};
    int rank = 0;
  };
  static_assert(std::has_unique_object_representations_v<First>);

  AggregateCompletion(Completion& whole, std::atomic<std::size_t>* pending, int* failed_rank)
      : whole_(whole), pending_(pending), failed_rank_(failed_rank) {
    if (pending_ != nullptr) pending_->fetch_add(1, std::memory_order_relaxed);
  }

  void end(Status status, int rank) noexcept {
    record(status, rank);
    // Acquire-release: the thread that ends the last part sees the results of all others.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::unique_ptr<AggregateCompletion> const owned(this);
    First const first = first_.load(std::memory_order_relaxed);
    if (failed(first.status) && failed_rank_ != nullptr) *failed_rank_ = first.rank;
    whole_.done(whole_, first.status, 0);
    // Release: pairs with the acquire of a thread that waits until none is pending.
    if (pending_ != nullptr) pending_->fetch_sub(1, std::memory_order_release);
  }

  Completion& whole_;
  std::atomic<std::size_t>* pending_;
  int* failed_rank_;
  std::mutex adding_;  ///< protects `parts_`
  std::deque<Part> parts_;
  std::atomic<std::size_t> missing_{1};  ///< parts, and close()
  std::atomic<First> first_{First{}};
};

}  // namespace mpixrma::engine
