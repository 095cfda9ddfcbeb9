/// The lock-free structures against the memory model of the language: Relacy runs them with its own atomics,
/// which return every value that the model permits and not only those of this processor.
#include <gtest/gtest.h>

#include "datatype/handle_cache.hpp"
#include "engine/memory/range_index.hpp"
#include "engine/memory/range_slot.hpp"
#include "engine/net/ring.hpp"
#include "engine/op/kernel/update_modes.hpp"
#include "engine/origin/access_guard.hpp"
#include "engine/origin/mapped_segment.hpp"
#include "engine/origin/outstanding_mark.hpp"
#include "engine/sync/shared_lock.hpp"
#include "tests/engine/lock_free_model.hpp"

namespace mpixrma::engine::model {

std::byte* pointer(std::uintptr_t bits) { return reinterpret_cast<std::byte*>(bits); }

/// Two threads map segments at one place while a third looks up an address that is in both.
template <template <typename> class Atomic>
struct MappedSegmentModel : rl::test_suite<MappedSegmentModel<Atomic>, 3> {
  Atomic<std::uint64_t> generations[2];
  BasicMappedSegment<Atomic> segment;

  typename BasicMappedSegment<Atomic>::View state(unsigned i) {
    return {0x1000u + 0x80u * i, 0x100, pointer(0x10000u * (i + 1) + 0x80u * i), &generations[i], 2 * i + 1};
  }
  void before() {
    for (unsigned i = 0; i < 2; ++i) generations[i].store(2 * i + 1, std::memory_order_relaxed);
  }
  void thread(unsigned index) {
    if (index < 2) {
      segment.assign(state(index));
      return;
    }
    std::byte* const found = segment.translate(0x10c0, 8);
    RL_ASSERT(found == nullptr || found == pointer(0x100c0) || found == pointer(0x200c0));
    auto const view = segment.view();
    if (view.length == 0) return;
    unsigned const which = view.begin == state(0).begin ? 0 : 1;
    auto const expected = state(which);
    RL_ASSERT(view.begin == expected.begin && view.local == expected.local);
    RL_ASSERT(view.owner_generation == expected.owner_generation);
    RL_ASSERT(view.generation == expected.generation);
  }
};

/// As above, starting with a segment, so that not even a mixture of two segments contains a null pointer to a
/// generation, which the unordered model would dereference.
template <template <typename> class Atomic>
struct ReplacedSegmentModel : MappedSegmentModel<Atomic> {
  void before() {
    MappedSegmentModel<Atomic>::before();
    this->segment.assign(this->state(0));
  }
};

/// The owner reuses a slot of its table for another range while a peer reads it.
template <template <typename> class Atomic>
struct RangeSlotModel : rl::test_suite<RangeSlotModel<Atomic>, 2> {
  BasicRangeSlot<Atomic> slot;

  static PublishedRange use(unsigned i) { return {0x1000u * (i + 1), 0x100u + i, 7 + i, 2 * i + 1}; }
  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned i = 0; i < 2; ++i) {
        slot.publish(use(i));
        slot.withdraw(2 * i + 2);
      }
      return;
    }
    PublishedRange range;
    if (!slot.read(&range)) return;
    PublishedRange const expected = use(static_cast<unsigned>(range.generation / 2));
    RL_ASSERT(range.base == expected.base && range.length == expected.length);
    RL_ASSERT(range.number == expected.number);
  }
};

/// The owner removes a range from its table and reuses the slot for a new one while a peer looks up ranges.
template <template <typename> class Atomic>
struct RangeIndexModel : rl::test_suite<RangeIndexModel<Atomic>, 2> {
  static constexpr std::uint32_t slots = 3;
  BasicRangeSlot<Atomic> slot[slots];
  BasicRangeIndex<Atomic, slots, 2> index;
  BasicRangeIndexWriter<Atomic, slots, 2> writer;

  void put(std::uint32_t number, RemoteAddress base, std::uint64_t generation) {
    slot[number].publish({base, 0x100, number, generation});
    writer.insert(number, base);
  }
  void before() {
    writer.open(index);
    writer.begin_change();
    for (std::uint32_t i = 0; i < slots; ++i) put(i, 0x1000 * (i + 1), 1);
    writer.finish_change();
  }
  void thread(unsigned number) {
    if (number == 0) {
      writer.begin_change();
      slot[1].withdraw(2);
      writer.remove(1);
      put(1, 0x4000, 3);
      writer.finish_change();
      return;
    }
    PublishedRange range;
    RL_ASSERT(index.find(slot, slots, 0x3010, &range) == 2 && range.base == 0x3000);
    std::uint32_t const changing = index.find(slot, slots, 0x4010, &range);
    RL_ASSERT(changing == slots || (changing == 1 && range.base == 0x4000 && range.generation == 3));
    RL_ASSERT(index.find(slot, slots, 0x5010, &range) == slots);
  }
};

/// The owner withdraws a segment and then tells a peer: the peer no longer translates addresses of it.
template <template <typename> class Atomic>
struct FreedMemoryModel : rl::test_suite<FreedMemoryModel<Atomic>, 2> {
  BasicRangeSlot<Atomic> slot;
  BasicMappedSegment<Atomic> segment;
  Atomic<int> told;

  void before() {
    slot.publish({0x1000, 0x100, 0, 1});
    segment.assign({0x1000, 0x100, pointer(0x10000), &slot.generation(), 1});
  }
  void thread(unsigned index) {
    if (index == 0) {
      slot.withdraw(2);
      told.store(1, std::memory_order_release);
    } else if (told.load(std::memory_order_acquire) == 1) {
      RL_ASSERT(segment.translate(0x1000, 8) == nullptr);
      RL_ASSERT(segment.view().translate(0x1000, 8) == nullptr);
    }
  }
};

/// A thread stores, or returns from Complete, once another thread has waited for all earlier messages.
/// Relacy reports unordered accesses to `memory`.
template <template <template <typename> class> class Mark, template <typename> class Atomic>
struct MarkModel : rl::test_suite<MarkModel<Mark, Atomic>, 2> {
  Mark<Atomic> mark;
  rl::var<int> memory;

  void before() { mark.raise(5); }
  void thread(unsigned index) {
    if (index == 0) {
      memory($) = 1;  // the effect of the messages
      mark.clear(5);
    } else if (!mark.is_set()) {
      memory($) = 2;
    }
  }
};
template <template <typename> class Atomic>
using AccessGuardModel = MarkModel<BasicAccessGuard, Atomic>;
template <template <typename> class Atomic>
using OutstandingMarkModel = MarkModel<BasicOutstandingMark, Atomic>;

/// Two exclusive holders, two shared ones and the agent request a lock concurrently. Relacy reports unordered
/// accesses to `memory`; a rejected agent is notified when it may retry.
template <template <typename> class Atomic>
struct SharedLockModel : rl::test_suite<SharedLockModel<Atomic>, 5> {
  using Lock = BasicSharedLock<Atomic, 2>;
  Lock lock;
  rl::var<int> memory;
  bool kept_out = false;
  int reports = 0;

  void before() {
    memory($) = 0;
    lock.create();
  }
  void take(unsigned index, LockMode mode) {
    Holder const holder = holder_of(100 + static_cast<pid_t>(index), 0, index);
    auto result = lock.try_lock(holder, mode);
    if (result.outcome == Lock::Outcome::done) {
      int const seen = memory($);
      if (mode == LockMode::exclusive) memory($) = seen + 1;
      result = lock.unlock(holder);
      RL_ASSERT(result.outcome == Lock::Outcome::done);
    }
    if (result.agent_has_requests) ++reports;
  }
  void thread(unsigned index) {
    if (index < 4) return take(index, index >= 2 ? LockMode::shared : LockMode::exclusive);
    RL_ASSERT(lock.set_queued());
    kept_out = !lock.admits(LockMode::exclusive);
    if (kept_out) return;
    memory($) = 7;
    lock.clear_queued();
  }
  void after() { RL_ASSERT(!kept_out || reports != 0); }
};

/// Two origins and an occasionally polling target hand a slot to each other. Relacy reports unordered
/// accesses to the content.
template <template <typename> class Atomic>
struct RingSlotModel : rl::test_suite<RingSlotModel<Atomic>, 3> {
  struct Content {
    rl::var<int> value;
  };
  BasicRingClaim<Atomic> claim;
  BasicRingSlot<Atomic, Content> slot;

  void ask(int question) {
    if (!claim.try_claim(static_cast<std::uint32_t>(question))) return;
    slot.content().value($) = question;
    slot.post();
    if (!slot.is_complete() && slot.try_take_back()) return claim.free();
    while (!slot.is_complete()) rl::yield(1, $);
    RL_ASSERT(int(slot.content().value($)) == 2 * question);
    claim.free();
  }
  void execute() {
    if (!slot.try_take()) return;
    int const question = slot.content().value($);
    slot.content().value($) = 2 * question;
    slot.complete();
  }
  void thread(unsigned index) {
    if (index < 2) return ask(static_cast<int>(index) + 1);
    for (int look = 0; look < 2; ++look) execute();
  }
};

/// An origin ends with a request in flight, and two others detect that while the target may be executing it.
template <template <typename> class Atomic>
struct InheritedSlotModel : rl::test_suite<InheritedSlotModel<Atomic>, 4> {
  RingSlotModel<Atomic> entry;
  Atomic<int> ended;

  void before() { ended.store(0, std::memory_order_relaxed); }
  void post(std::uint32_t owner) {
    if (!entry.claim.try_claim(owner)) return;
    entry.slot.content().value($) = static_cast<int>(owner);
    entry.slot.post();
  }
  void inherit(std::uint32_t owner) {
    while (ended.load(std::memory_order_acquire) == 0) rl::yield(1, $);
    if (entry.claim.owner() == 1 && entry.claim.try_inherit(1, owner)) {
      while (!entry.slot.try_recover()) rl::yield(1, $);
      entry.claim.free();
    }
    post(owner);
  }
  void thread(unsigned index) {
    if (index == 0) {
      post(1);
      ended.store(1, std::memory_order_release);
    } else if (index < 3) {
      inherit(index + 1);
    } else {
      entry.execute();
    }
  }
};

/// States of handles are reused: a thread that finds a state by its handle sees the values set for that
/// handle.
template <template <typename> class Atomic>
struct HandleCacheModel : rl::test_suite<HandleCacheModel<Atomic>, 2> {
  using Handle = char*;
  struct State {
    PublishedHandle<Handle, Atomic> published;
    rl::var<int> content;
    Handle handle() const { return published.get(); }
  };
  static Handle handle(int use) {
    return reinterpret_cast<Handle>(0x1000L + use * 0x100000L);
  }  // all map to one cache slot

  State state;
  HandleCache<Handle, State, Atomic> cache;

  void use(int number) {
    state.content($) = number;
    state.published.publish(handle(number));
    cache.insert(state);
  }
  void before() {
    use(1);
    state.published.withdraw();
  }
  void thread(unsigned index) {
    if (index == 0) {
      use(2);
    } else if (State* const found = cache.find(handle(2))) {
      RL_ASSERT(int(found->content($)) == 2);
    }
    RL_ASSERT(index == 0 || cache.find(handle(1)) == nullptr);
  }
};

/// An array is updated plainly under its stripe while its first single-element updates are made: a thread
/// that uses the CPU's atomics must come after all plain updates. Relacy reports unordered accesses to
/// `plain`, which threads with the CPU's atomics only read.
template <template <typename> class Atomic>
struct UpdateModeModel : rl::test_suite<UpdateModeModel<Atomic>, 3> {
  BasicUpdateModes<Atomic, 2> modes;
  rl::mutex stripe;
  rl::var<int> plain;
  rl::atomic<int> atomic;

  static constexpr RemoteAddress address = RemoteAddress{1} << granule_shift;

  void before() {
    plain($) = 0;
    atomic.store(0, rl::mo_relaxed, $);
  }
  void update_by_cpu() {
    RL_ASSERT(int(plain($)) <= 2);
    atomic.fetch_add(1, rl::mo_relaxed, $);
  }
  void update_array() {
    stripe.lock($);
    if (modes.any_by_element(address, address + 8)) {
      update_by_cpu();
    } else {
      plain($) = int(plain($)) + 1;
    }
    stripe.unlock($);
  }
  void update_single() {
    if (!modes.all_by_element(address, address + 8)) {
      stripe.lock($);
      modes.switch_to_elements(address);
      stripe.unlock($);
    }
    update_by_cpu();
  }
  void thread(unsigned index) {
    if (index == 0) {
      update_array();
      update_array();
    } else {
      update_single();
      update_single();
    }
  }
  void after() { RL_ASSERT(int(plain($)) + atomic.load(rl::mo_relaxed, $) == 6); }
};

TEST(LockFreeModel, MappedSegmentIsReadConsistently) {
  EXPECT_TRUE(holds<MappedSegmentModel<ModelAtomic>>(std::cout));
  expect_that_order_matters<ReplacedSegmentModel>();
}

TEST(LockFreeModel, TableSlotIsReadConsistently) { expect_that_order_matters<RangeSlotModel>(); }

TEST(LockFreeModel, FindsRangeDuringInsertionsAndRemovals) { expect_that_order_matters<RangeIndexModel>(); }

TEST(LockFreeModel, NonWaitingCallsAreOrderedAfterMessages) {
  expect_that_order_matters<AccessGuardModel>();
  expect_that_order_matters<OutstandingMarkModel>();
}

TEST(LockFreeModel, LockExcludesAndWakesAllWaiters) { expect_that_order_matters<SharedLockModel>(); }

TEST(LockFreeModel, RingRequestIsCompletedOrTakenBack) { expect_that_order_matters<RingSlotModel>(); }

TEST(LockFreeModel, RequestsLeftInARingAreInheritedOnce) { expect_that_order_matters<InheritedSlotModel>(); }

TEST(LockFreeModel, StateFoundByHandleIsInitialized) { expect_that_order_matters<HandleCacheModel>(); }

TEST(LockFreeModel, SingleElementsAreUpdatedAfterWholeArrays) {
  expect_that_order_matters<UpdateModeModel>();
}

TEST(LockFreeModel, FreedMemoryIsNotAccessed) { expect_that_order_matters<FreedMemoryModel>(); }

}  // namespace mpixrma::engine::model
