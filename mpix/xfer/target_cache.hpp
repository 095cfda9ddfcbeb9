/// Cache of resolved targets, one per thread: the next transfer with the same communicator, datatype and rank
/// takes a few comparisons and a copy.
#pragma once

#include <mpi.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "datatype/datatype.hpp"
#include "engine/origin/peer.hpp"
#include "mpix/comm/communicator.hpp"

namespace mpixrma {

struct alignas(128) CachedTarget {
  MPI_Comm comm{};
  MPI_Datatype type{};
  std::uint64_t generation = 0;  ///< the value of `handles_generation` when the entry was made
  int rank = MPI_PROC_NULL;
  engine::ElementType sum_element{};  ///< element of `type` if a sum is defined for it; else `none`
  std::size_t element_bytes = 0;
  unsigned atomic_word = 0;  ///< as Datatype::atomic_word
  Communicator const* communicator = nullptr;
  engine::Peer const* peer = nullptr;
  engine::SegmentView segment;  ///< of the latest target address
  /// A possibly empty part of `segment`: each aligned word of `atomic_word` bytes that begins in the part
  /// lies within `segment` and is updated by the CPU's atomics.
  engine::RemoteAddress words_begin = 0;
  std::uint64_t words_length = 0;
  std::byte* words_local = nullptr;

  /// Returns a local pointer to the aligned word of `atomic_word` bytes at `address`; nullptr if that cannot
  /// be reached or is not updated by the CPU's atomics.
  std::byte* translate_word(engine::RemoteAddress address, std::size_t bytes) const noexcept {
    engine::RemoteAddress const offset = address - words_begin;
    if (offset < words_length) [[likely]]
      return segment.is_gone() ? nullptr : words_local + offset;
    return peer->stripes()->modes.is_by_element(address) ? segment.translate(address, bytes) : nullptr;
  }
};
static_assert(sizeof(CachedTarget) == 128);

/// Whether the size in bytes of any `int` number of elements fits. Only such datatypes are cached.
inline bool is_cacheable(Datatype const& type) noexcept { return type.max_count() >= INT_MAX; }

/// Computes the size of `count` > 0 such elements. Returns false on overflow.
inline bool multiply(std::size_t element_bytes, int count, std::size_t* bytes) noexcept {
  *bytes = element_bytes * static_cast<std::size_t>(count);
  return true;
}
inline bool multiply(std::size_t element_bytes, MPI_Count count, std::size_t* bytes) noexcept {
  return !__builtin_mul_overflow(element_bytes, static_cast<std::size_t>(count), bytes);
}

class TargetCache {
 public:
  /// The entry for transfers to `rank`.
  CachedTarget& at(int rank) noexcept { return const_cast<CachedTarget&>(std::as_const(*this).at(rank)); }
  CachedTarget const& at(int rank) const noexcept {
    CachedTarget const* entry = &entries_[static_cast<unsigned>(rank) % entries];
    asm("" : "+r"(entry));  // or the compiler computes it again for every use
    return *entry;
  }

 private:
  static constexpr unsigned entries = 8;
  CachedTarget entries_[entries];
};

/// An entry of a thread's cache of plans: the segment of the latest target address of a plan.
struct alignas(64) RecentPlan {
  std::uint64_t number = 0;  ///< number of the plan; 0: none
  engine::SegmentView segment;
};

constexpr unsigned recent_plan_count = 8;

/// The cache of a thread.
struct ThreadCache {
  TargetCache transfers;
  RecentPlan plans[recent_plan_count];
};

// Compiled for the initial-exec model: accessed without a call. Only pointers, because a library that is
// loaded by dlopen() gets little thread-local storage of that model. Never null: until the thread caches a
// target, they point to an empty cache that all threads share.
extern thread_local constinit TargetCache const* target_cache;
extern thread_local constinit RecentPlan const* recent_plan;

/// Returns the thread's own cache, for writing; nullptr if there is no memory for one, or the thread is about
/// to end.
ThreadCache* writable_thread_cache() noexcept;
/// Clears the thread's cache. Async-signal-safe.
void clear_thread_cache() noexcept;

/// Returns the cached target of the thread's latest operation with these arguments; nullptr if another
/// operation has replaced the entry, or handles were freed, since then. If direct access to its peer is
/// guarded, the caller waits or records the access.
inline CachedTarget const* find_cached_target(MPI_Comm comm, MPI_Datatype type, int rank) noexcept {
  CachedTarget const& recent = target_cache->at(rank);
  if (recent.comm != comm || recent.type != type || recent.rank != rank) return nullptr;
  return recent.generation == handles_generation.load(std::memory_order_acquire) ? &recent : nullptr;
}

/// Caches the target of an operation by load and store.
void cache_target(Communicator const& communicator, Datatype const& type, Target& target,
                  RemoteAddress address);

}  // namespace mpixrma
