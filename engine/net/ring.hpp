/// The ring: slots in shared memory for requests from processes of a host to a process that polls. A slot
/// belongs to the origin that has claimed it, and requests in different slots have no order. A round trip
/// costs two cache misses and no system call. No thread is woken up: an origin whose target does not poll
/// takes its request back and uses another protocol. Data that does not fit into a slot is staged beside the
/// slot.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/net/wire.hpp"

namespace mpixrma::engine {

/// The location of a request's data, and the method by which fetched data is written.
enum class Staging : std::uint16_t {
  none,         ///< in the slot
  cached,       ///< in a StagedRequest; of the slot only `staging` and `status` are used
  non_temporal  ///< like `cached`, but both sides write the staged data by non-temporal stores
};

/// A request on contiguous memory of the target, with the fields of wire::RequestHeader. The reply is written
/// in place.
struct RingEntry {
  static constexpr std::size_t max_data = 88;

  std::uint8_t kind;
  std::uint8_t element_type;
  std::uint8_t operation;
  std::uint8_t status;  ///< in the reply: engine::Status
  std::uint16_t flags;
  std::uint16_t bytes;       ///< number of target bytes
  std::uint16_t data_bytes;  ///< number of bytes in `data`: operands
  Staging staging;
  std::uint64_t address;
  std::uint64_t exposure;
  std::byte data[max_data];  ///< in the reply: the `bytes` fetched bytes
};

/// A fragment of a larger request, in the format of a message. Its memory is allocated at first use.
struct StagedRequest {
  static constexpr std::size_t max_data = 16 * 1024;  ///< bytes of the target
  static constexpr std::size_t max_runs = 256;
  static constexpr std::size_t max_operands = 2;
  static constexpr std::size_t max_description =
      max_dimensions * sizeof(Dimension) + max_runs * sizeof(LayoutRun);
  static constexpr std::size_t max_payload = max_description + max_operands * max_data;

  wire::RequestHeader header;
  std::uint64_t payload_bytes;
  alignas(64) std::byte payload[max_payload];
  alignas(64) std::byte fetched[max_data];  ///< in the reply
};

/// The owner of a slot. Separate from the slot, so that a cache line that the target polls is written only
/// once per request.
template <template <typename> class Atomic>
class alignas(64) BasicRingClaim {
 public:
  /// `owner` is a nonzero number of the process.
  bool try_claim(std::uint32_t owner) noexcept { return try_inherit(0, owner); }
  /// Takes the slot over from `ended`, which will not access it any more.
  bool try_inherit(std::uint32_t ended, std::uint32_t owner) noexcept {
    // Acquire: pairs with free().
    return owner_.compare_exchange_strong(ended, owner, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void free() noexcept { owner_.store(0, std::memory_order_release); }
  std::uint32_t owner() const noexcept { return owner_.load(std::memory_order_relaxed); }

 private:
  Atomic<std::uint32_t> owner_{0};
};

/// A slot changes owners: the origin that has claimed it writes the request and posts it; a polling thread of
/// the target takes it, executes it and writes the reply; then the origin owns it again. Between post and
/// take, either the origin takes it back or the target takes it: one compare-exchange decides.
///
/// Each owner hands the slot on by a release operation, and the next owner takes the slot by an acquire
/// operation.
///
/// Like engine/origin/mapped_segment.hpp, checked against the memory model with another `Atomic`.
template <template <typename> class Atomic, typename Content>
class alignas(64) BasicRingSlot {
 public:
  // For the origin that has claimed the slot.
  void post() noexcept { give(State::posted); }
  bool try_take_back() noexcept { return change(State::posted, State::owned_by_origin); }
  bool is_complete() const noexcept {
    // Acquire: pairs with complete().
    return state_.load(std::memory_order_acquire) == static_cast<std::uint32_t>(State::owned_by_origin);
  }
  /// For an inherited slot: takes a posted request back. Returns whether the target will not access the slot
  /// any more.
  bool try_recover() noexcept {
    // Acquire: pairs with complete().
    auto const state = static_cast<State>(state_.load(std::memory_order_acquire));
    return state != State::taken && (state != State::posted || try_take_back());
  }

  // For the target.
  /// Relaxed, because try_take() decides.
  bool is_posted() const noexcept {
    return state_.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(State::posted);
  }
  bool try_take() noexcept { return change(State::posted, State::taken); }
  void complete() noexcept { give(State::owned_by_origin); }

  Content& content() noexcept { return content_; }

 private:
  enum class State : std::uint32_t { owned_by_origin, posted, taken };

  bool change(State from, State to) noexcept {
    auto present = static_cast<std::uint32_t>(from);
    // Acquire: pairs with the release of the previous owner.
    return state_.compare_exchange_strong(present, static_cast<std::uint32_t>(to), std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void give(State to) noexcept { state_.store(static_cast<std::uint32_t>(to), std::memory_order_release); }

  Atomic<std::uint32_t> state_{0};
  Content content_;
};

using RingClaim = BasicRingClaim<std::atomic>;
using RingSlot = BasicRingSlot<std::atomic, RingEntry>;
static_assert(sizeof(RingSlot) == 128);

/// The ring of one process. Zero-initialised memory is an empty ring. Other origins take over the slots of an
/// origin that has ended.
class Ring {
 public:
  static constexpr std::size_t slots = 32;

  /// Returns nullptr if the slots that the process tries are in use. `pid` is its own.
  RingSlot* claim(std::uint64_t process, pid_t pid) noexcept {
    __builtin_prefetch(&posts_, 1);
    for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
      std::size_t const number = (process + attempt) % slots;
      if (!claims_[number].try_claim(static_cast<std::uint32_t>(pid))) continue;
#ifdef __SANITIZE_THREAD__
      // The target may be this process, and another process may have owned the slot meanwhile, which the
      // sanitizer does not see.
      (void)slots_[number].is_complete();
#endif
      return &slots_[number];
    }
    return nullptr;
  }
  void free(RingSlot const& slot) noexcept { claims_[number_of(slot)].free(); }
  /// Among the slots that the process tries, frees those whose owners have ended, according to is_alive(pid).
  template <typename IsAlive>
  void free_of_ended(std::uint64_t process, pid_t pid, IsAlive is_alive) noexcept {
    for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
      std::size_t const number = (process + attempt) % slots;
      RingClaim& claim = claims_[number];
      std::uint32_t const owner = claim.owner();
      if (owner == 0 || is_alive(static_cast<pid_t>(owner))) continue;
      if (!claim.try_inherit(owner, static_cast<std::uint32_t>(pid))) continue;
      // The target may be accessing the slot, or may have died while accessing it: then the slot is lost.
      for (int looks = 0; looks < 1000; ++looks) {
        if (slots_[number].try_recover()) {
          claim.free();
          break;
        }
        sched_yield();
      }
    }
  }
  StagedRequest& staged_of(RingSlot const& slot) noexcept { return staged_[number_of(slot)]; }
  void post(RingSlot& slot) noexcept {
    slot.post();
    // Release: a thread that reads the new number finds the slot posted.
    posts_.fetch_add(1, std::memory_order_release);
  }

 private:
  friend class RingReader;
  static constexpr std::size_t attempts = 4;
  // A processor may prefetch the neighbour of a missing cache line.
  static constexpr std::size_t lines_apart = 128;

  std::size_t number_of(RingSlot const& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.data());
  }

  std::array<RingClaim, slots> claims_;
  alignas(lines_apart) std::atomic<std::uint32_t> posts_{0};  ///< number of posts so far
  alignas(lines_apart) std::array<RingSlot, slots> slots_;
  alignas(4096) std::array<StagedRequest, slots> staged_;
};

/// A thread of the target that polls the ring. Several may poll concurrently, each with its own reader.
class RingReader {
 public:
  /// Whether there may be requests; any thread. Relaxed: a late observation only delays the request.
  bool has_news(Ring const& ring) const noexcept {
    // The origin is usually the same as before, so its slot is checked first.
    return ring.slots_[last_.load(std::memory_order_relaxed)].is_posted() ||
           news(ring.posts_.load(std::memory_order_relaxed)) > 0;
  }

  /// Calls execute(entry, staged) for each pending request. Returns their number. One thread at a time.
  template <typename Execute>
  int take(Ring& ring, Execute execute) noexcept {
    int taken = take_one(ring, last_.load(std::memory_order_relaxed), execute);
    std::uint32_t const seen = seen_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(taken);
    seen_.store(seen, std::memory_order_relaxed);
    // Acquire: pairs with post().
    std::uint32_t const posts = ring.posts_.load(std::memory_order_acquire);
    if (news(posts) <= 0) return taken;
    seen_.store(posts, std::memory_order_relaxed);
    for (std::size_t i = 0; i < Ring::slots; ++i) {
      if (take_one(ring, i, execute) == 0) continue;
      last_.store(i, std::memory_order_relaxed);
      ++taken;
    }
    return taken;
  }

 private:
  /// A request that was taken before it was counted makes this temporarily negative.
  std::int32_t news(std::uint32_t posts) const noexcept {
    return static_cast<std::int32_t>(posts - seen_.load(std::memory_order_relaxed));
  }

  template <typename Execute>
  static int take_one(Ring& ring, std::size_t number, Execute& execute) noexcept {
    RingSlot& slot = ring.slots_[number];
    if (!slot.is_posted() || !slot.try_take()) return 0;
    execute(slot.content(), ring.staged_[number]);
    slot.complete();
    return 1;
  }

  std::atomic<std::uint32_t> seen_{0};  ///< posts seen so far
  std::atomic<std::size_t> last_{0};    ///< slot of the last request taken
};

}  // namespace mpixrma::engine
