/// Records the activity of a process in a mapped file of fixed-size records (engine/trace/record.hpp).
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/visibility.h"
#include "engine/op/operation.hpp"
#include "engine/op/run_operation.hpp"
#include "engine/op/statistics.hpp"
#include "engine/trace/clock.hpp"
#include "engine/trace/record.hpp"

namespace mpixrma::engine {

constexpr TracedOp traced_update(ReduceOp op, Fetch fetch) noexcept {
  bool const fetches = fetch == Fetch::yes;
  if (operand_count(op) == 2) return TracedOp::compare_and_swap;
  switch (op) {
    case ReduceOp::replace: return fetches ? TracedOp::swap : TracedOp::accumulate;
    case ReduceOp::sum: return fetches ? TracedOp::fetch_and_add : TracedOp::accumulate;
    case ReduceOp::increment: return fetches ? TracedOp::fetch_and_increment : TracedOp::increment;
    default: return fetches ? TracedOp::fetch_and_accumulate : TracedOp::accumulate;
  }
}

/// A number that identifies the calling thread.
inline std::uint64_t this_thread() noexcept {
  return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
}

class Recorder {
 public:
  /// Returns nullptr if no trace is written: this build cannot make one, or there is a trace in the directory
  /// already, or the file exists or cannot be created. Rank 0 logs the reason.
  static std::unique_ptr<Recorder> open(char const* directory, std::uint64_t process, Log const& log);
  /// Makes the OTF2 trace if no other process still writes records.
  ~Recorder();
  Recorder(Recorder const&) = delete;
  Recorder& operator=(Recorder const&) = delete;

  std::uint64_t now() const noexcept { return clock_.now(); }

  /// An operation with `peer` that was issued at time `begin` by `protocol`.
  MPIX_ENGINE_API void add_operation(std::uint64_t begin, std::uint64_t peer, Protocol protocol,
                                     RmaOp const& operation, Issued const& issued) noexcept;
  /// An operation by load and store, which has ended. Inline, because a record costs more than the operation.
  void add_direct(std::uint64_t begin, std::uint64_t peer, TracedOp op, std::size_t bytes) noexcept;
  /// An operation that was appended to a batch, with its position in the stream.
  void add_appended(std::uint64_t begin, std::uint64_t peer, RunOperation const& operation,
                    std::uint64_t sequence) noexcept;
  /// A wait for `peer`, which ends now. `sequence`: all messages up to this position are executed; or 0.
  void add_wait(std::uint64_t begin, std::uint64_t peer, std::uint64_t sequence) noexcept;
  /// Requests of `peer` that this process has executed.
  struct Execution {
    std::uint64_t peer;
    Protocol protocol;
    TracedOp op;
    std::size_t requests;
    std::size_t bytes;  ///< of all of them
  };
  void add_execution(std::uint64_t begin, Execution const& execution) noexcept;

 private:
  /// A mapped part of the file.
  struct Chunk {
    TraceRecord* records;
    std::atomic<std::uint32_t> used;
  };

  Recorder(std::string directory, int fd, TraceHeader* header, Log const& log) noexcept
      : directory_(std::move(directory)), fd_(fd), header_(header), log_(log) {}

  template <typename Fill>
  void add(std::uint64_t begin, std::uint64_t peer, Fill&& fill) noexcept;
  MPIX_ENGINE_API TraceRecord* reserve_in_new_chunk() noexcept;
  bool extend(Chunk const* full) noexcept;
  void close_file() noexcept;

  std::string directory_;
  int fd_;
  TraceHeader* header_;
  TraceClock clock_;
  Log const& log_;
  std::mutex lock_;                              ///< of `chunks_`
  std::vector<std::unique_ptr<Chunk>> chunks_;   ///< stay mapped, because a thread may still write to any
  Chunk full_{nullptr, TraceRecord::per_chunk};  ///< the current chunk while no mapped chunk has room
  std::atomic<Chunk*> current_{&full_};
  std::atomic<std::uint64_t> lost_{0};
};

/// `fill` stores the members that only this kind of record has, and returns the tail. Both functions are
/// inlined, so that the members are stored directly into the file's memory.
template <typename Fill>
[[gnu::always_inline]] inline void Recorder::add(std::uint64_t begin, std::uint64_t peer,
                                                 Fill&& fill) noexcept {
  std::uint64_t const end = now();
  Chunk* const chunk = current_.load(std::memory_order_acquire);  // pairs with the release in extend()
  std::uint32_t const number = chunk->used.fetch_add(1, std::memory_order_relaxed);
  TraceRecord* place = nullptr;
  if (number < TraceRecord::per_chunk) [[likely]] {
    place = &chunk->records[number];
  } else {
    place = reserve_in_new_chunk();
    if (place == nullptr) return;
  }
  place->begin = begin;
  place->end = end;
  place->peer = peer;
  place->thread = this_thread();
  TraceRecord::Tail const tail = fill(*place);
  // The process may be killed at any time: a record with a kind is complete.
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(&place->tail), std::bit_cast<std::uint64_t>(tail),
                   __ATOMIC_RELEASE);
}

[[gnu::always_inline]] inline void Recorder::add_direct(std::uint64_t begin, std::uint64_t peer, TracedOp op,
                                                        std::size_t bytes) noexcept {
  // The sequence stays 0, because new memory of the file is zero.
  add(begin, peer, [&](TraceRecord& record) {
    record.bytes = bytes;
    return TraceRecord::Tail{1, op, static_cast<std::uint8_t>(Protocol::direct), 1, RecordKind::operation};
  });
}

}  // namespace mpixrma::engine
