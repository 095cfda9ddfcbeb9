#include "mpix/xfer/target_cache.hpp"

#include <algorithm>
#include <new>

namespace mpixrma {

namespace {

constinit ThreadCache const empty_cache{};

}  // namespace

thread_local constinit TargetCache const* target_cache = &empty_cache.transfers;
thread_local constinit RecentPlan const* recent_plan = empty_cache.plans;

namespace {

/// Owns a thread's cache until the thread ends.
class CacheOwner {
 public:
  CacheOwner() noexcept = default;
  ~CacheOwner() {
    target_cache = &empty_cache.transfers;
    recent_plan = empty_cache.plans;
    delete cache_;
    cache_ = nullptr;
    ended_ = true;
  }
  CacheOwner(CacheOwner const&) = delete;
  CacheOwner& operator=(CacheOwner const&) = delete;

  ThreadCache* get() noexcept {
    if (cache_ == nullptr && !ended_) {
      cache_ = new (std::nothrow) ThreadCache;
      if (cache_ == nullptr) return nullptr;
      target_cache = &cache_->transfers;
      recent_plan = cache_->plans;
    }
    return cache_;
  }

 private:
  ThreadCache* cache_ = nullptr;
  bool ended_ = false;  // the destructors of other objects of the thread may communicate
};
thread_local CacheOwner cache_owner;

/// Finds the part of the segment around `address` in which the CPU's atomics update words.
void find_words(CachedTarget& recent, RemoteAddress address) noexcept {
  constexpr RemoteAddress granule = RemoteAddress{1} << engine::granule_shift;
  constexpr RemoteAddress max_distance = 4096 * granule;
  engine::UpdateModes const& modes = recent.peer->stripes()->modes;
  engine::SegmentView const& segment = recent.segment;
  recent.words_length = 0;
  if (recent.atomic_word == 0 || segment.length < recent.atomic_word || !modes.is_by_element(address)) return;
  RemoteAddress const lowest = address - std::min(address - segment.begin, max_distance);
  // The part must not include an address at which a word would extend past the segment.
  RemoteAddress const limit = segment.begin + segment.length - (recent.atomic_word - 1);
  RemoteAddress begin = address & -granule;
  while (begin > lowest && modes.is_by_element(begin - 1)) begin -= granule;
  RemoteAddress end = (address & -granule) + granule;
  while (end < std::min(limit, address + max_distance) && modes.is_by_element(end)) end += granule;
  begin = std::max(begin, segment.begin);
  end = std::min(end, limit);
  if (begin >= end) return;
  recent.words_begin = begin;
  recent.words_length = end - begin;
  recent.words_local = segment.local + (begin - segment.begin);
}

}  // namespace

ThreadCache* writable_thread_cache() noexcept { return cache_owner.get(); }

void clear_thread_cache() noexcept {
  if (recent_plan == empty_cache.plans) return;  // the thread has no cache, or has ended
  *cache_owner.get() = ThreadCache();
}

void cache_target(Communicator const& communicator, Datatype const& type, Target& target,
                  RemoteAddress address) {
  if (!is_cacheable(type)) return;
  ThreadCache* const cache = writable_thread_cache();
  if (cache == nullptr) return;
  CachedTarget& recent = cache->transfers.at(target.rank);
  recent.comm = communicator.handle();
  recent.type = type.handle();
  recent.generation = handles_generation.load(std::memory_order_acquire);
  recent.rank = target.rank;
  recent.element_bytes = type.size();
  recent.sum_element = type.defines(engine::ReduceOp::sum) ? type.flat().element : engine::ElementType::none;
  recent.atomic_word = type.atomic_word();
  recent.communicator = &communicator;
  recent.peer = target.peer;
  recent.segment = target.peer->view(address);
  find_words(recent, address);
}

}  // namespace mpixrma
