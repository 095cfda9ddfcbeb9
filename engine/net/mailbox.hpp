/// Requests of the processes of a host to one that is looking for them, in memory that they share: a
/// round trip of two cache lines, without a system call. Nobody is woken for them. An origin that finds
/// nobody looking takes its request back, and does without. What does not fit into a slot is staged beside
/// it.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/net/wire.hpp"

namespace mpixrma::engine {

/// Where what belongs to a request stands, and how it is written.
enum class Staging : std::uint16_t {
  none,        ///< in the slot
  cached,      ///< a StagedRequest, and only `status` counts of the slot
  past_caches  ///< the same: what is fetched goes past the caches, too
};

/// A request, with the fields of wire::RequestHeader, on contiguous memory of the target. Answered in place.
struct Mail {
  static constexpr std::size_t most_data = 88;

  std::uint8_t kind;
  std::uint8_t element_type;
  std::uint8_t operation;
  std::uint8_t status;  ///< answer: engine::Status
  std::uint16_t flags;
  std::uint16_t bytes;       ///< of the target
  std::uint16_t data_bytes;  ///< of `data`: operands
  Staging staging;
  std::uint64_t address;
  std::uint64_t exposure;
  std::byte data[most_data];  ///< answer: what was fetched, `bytes` of it
};

/// A fragment of a larger request, as a message. Its memory is not there before it is used.
struct StagedRequest {
  static constexpr std::size_t most_data = 16 * 1024;  ///< bytes of the target
  static constexpr std::size_t most_segments = 256;
  static constexpr std::size_t most_operands = 2;
  static constexpr std::size_t most_description =
      max_dimensions * sizeof(Dimension) + most_segments * sizeof(Segment);
  static constexpr std::size_t most_payload = most_description + most_operands * most_data;

  wire::RequestHeader header;
  std::uint64_t payload_bytes;
  alignas(64) std::byte payload[most_payload];
  alignas(64) std::byte fetched[most_data];  ///< answer
};

/// Which origin has a slot in hand. Apart from the slot: what the target looks at all the time is written
/// once for each request only.
template <template <typename> class Atomic>
class alignas(64) BasicMailClaim {
 public:
  /// `owner`: a number of the process, not 0.
  bool try_claim(std::uint32_t owner) noexcept { return try_inherit(0, owner); }
  /// Instead of `ended`, which will not touch it any more.
  bool try_inherit(std::uint32_t ended, std::uint32_t owner) noexcept {
    // Acquire: pairs with free().
    return owner_.compare_exchange_strong(ended, owner, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void free() noexcept { owner_.store(0, std::memory_order_release); }
  std::uint32_t owner() const noexcept { return owner_.load(std::memory_order_relaxed); }

 private:
  Atomic<std::uint32_t> owner_{0};
};

/// Goes from hand to hand: an origin that has claimed it writes the request, and posts it; whoever looks in
/// the target takes it, executes it and writes the answer, and it is the origin's again. Between being posted
/// and being taken it is the origin's who takes it back, or the target's: one exchange decides.
///
/// Whoever hands it on does so by a release operation, and whoever has it next has read that by an acquire
/// operation.
///
/// As engine/origin/mapped_segment.hpp, checked against the memory model with another `Atomic`.
template <template <typename> class Atomic, typename Content>
class alignas(64) BasicMailSlot {
 public:
  // For the origin that has claimed it.
  void post() noexcept { give(State::posted); }
  bool try_take_back() noexcept { return change(State::posted, State::origins); }
  bool is_answered() const noexcept {
    // Acquire: pairs with answer().
    return state_.load(std::memory_order_acquire) == static_cast<std::uint32_t>(State::origins);
  }
  /// Of what was inherited: whether the target will not touch it any more.
  bool is_in_hand() noexcept {
    // Acquire: pairs with answer().
    auto const state = static_cast<State>(state_.load(std::memory_order_acquire));
    return state != State::taken && (state != State::posted || try_take_back());
  }

  // For the target.
  /// Relaxed: try_take() finds out.
  bool is_posted() const noexcept {
    return state_.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(State::posted);
  }
  bool try_take() noexcept { return change(State::posted, State::taken); }
  void answer() noexcept { give(State::origins); }

  Content& content() noexcept { return content_; }

 private:
  enum class State : std::uint32_t { origins, posted, taken };

  bool change(State from, State to) noexcept {
    auto present = static_cast<std::uint32_t>(from);
    // Acquire: pairs with the release of whoever had it before.
    return state_.compare_exchange_strong(present, static_cast<std::uint32_t>(to), std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void give(State to) noexcept { state_.store(static_cast<std::uint32_t>(to), std::memory_order_release); }

  Atomic<std::uint32_t> state_{0};
  Content content_;
};

using MailClaim = BasicMailClaim<std::atomic>;
using MailSlot = BasicMailSlot<std::atomic, Mail>;
static_assert(sizeof(MailSlot) == 128);

/// Of one process. Zero-initialised memory is an empty one. Of an origin that ends with slots in hand others
/// inherit them.
class Mailbox {
 public:
  static constexpr std::size_t slots = 32;

  /// nullptr: those that the process tries are in use. `pid`: its own.
  MailSlot* claim(std::uint64_t process, pid_t pid) noexcept {
    __builtin_prefetch(&posts_, 1);
    for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
      std::size_t const number = (process + attempt) % slots;
      if (!claims_[number].try_claim(static_cast<std::uint32_t>(pid))) continue;
#ifdef __SANITIZE_THREAD__
      // The target may be this process, and the slot have been another one's since: the sanitizer does not
      // see that.
      (void)slots_[number].is_answered();
#endif
      return &slots_[number];
    }
    return nullptr;
  }
  void free(MailSlot const& slot) noexcept { claims_[number_of(slot)].free(); }
  /// Frees those that the process tries whose owners have ended: is_alive(pid) tells.
  template <typename IsAlive>
  void free_of_ended(std::uint64_t process, pid_t pid, IsAlive is_alive) noexcept {
    for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
      std::size_t const number = (process + attempt) % slots;
      MailClaim& claim = claims_[number];
      std::uint32_t const owner = claim.owner();
      if (owner == 0 || is_alive(static_cast<pid_t>(owner))) continue;
      if (!claim.try_inherit(owner, static_cast<std::uint32_t>(pid))) continue;
      // The target may be at it, or have ended at it: then the slot is lost.
      for (int looks = 0; looks < 1000; ++looks) {
        if (slots_[number].is_in_hand()) {
          claim.free();
          break;
        }
        sched_yield();
      }
    }
  }
  StagedRequest& staged_of(MailSlot const& slot) noexcept { return staged_[number_of(slot)]; }
  void post(MailSlot& slot) noexcept {
    slot.post();
    // Release: whoever finds the number finds the slot posted.
    posts_.fetch_add(1, std::memory_order_release);
  }

 private:
  friend class MailReader;
  static constexpr std::size_t attempts = 4;
  // A processor may fetch the line beside the one that it misses.
  static constexpr std::size_t lines_apart = 128;

  std::size_t number_of(MailSlot const& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.data());
  }

  std::array<MailClaim, slots> claims_;
  alignas(lines_apart) std::atomic<std::uint32_t> posts_{0};  ///< so far
  alignas(lines_apart) std::array<MailSlot, slots> slots_;
  alignas(4096) std::array<StagedRequest, slots> staged_;
};

/// Somebody in the target who looks into its mailbox. Several may look at once, each with a reader of its
/// own.
class MailReader {
 public:
  /// By any thread: whether it is worth while to take. Relaxed: what is seen late is taken late.
  bool has_news(Mailbox const& mailbox) const noexcept {
    // Mostly the origin is the same again, and its slot tells first.
    return mailbox.slots_[last_.load(std::memory_order_relaxed)].is_posted() ||
           news(mailbox.posts_.load(std::memory_order_relaxed)) > 0;
  }

  /// Calls execute(mail, staged) for everything that is there; how many these were. By one thread at a time.
  template <typename Execute>
  int take(Mailbox& mailbox, Execute execute) noexcept {
    int taken = take_one(mailbox, last_.load(std::memory_order_relaxed), execute);
    std::uint32_t const seen = seen_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(taken);
    seen_.store(seen, std::memory_order_relaxed);
    // Acquire: pairs with post().
    std::uint32_t const posts = mailbox.posts_.load(std::memory_order_acquire);
    if (news(posts) <= 0) return taken;
    seen_.store(posts, std::memory_order_relaxed);
    for (std::size_t i = 0; i < Mailbox::slots; ++i) {
      if (take_one(mailbox, i, execute) == 0) continue;
      last_.store(i, std::memory_order_relaxed);
      ++taken;
    }
    return taken;
  }

 private:
  /// What was taken before it was counted makes it negative for a moment.
  std::int32_t news(std::uint32_t posts) const noexcept {
    return static_cast<std::int32_t>(posts - seen_.load(std::memory_order_relaxed));
  }

  template <typename Execute>
  static int take_one(Mailbox& mailbox, std::size_t number, Execute& execute) noexcept {
    MailSlot& slot = mailbox.slots_[number];
    if (!slot.is_posted() || !slot.try_take()) return 0;
    execute(slot.content(), mailbox.staged_[number]);
    slot.answer();
    return 1;
  }

  std::atomic<std::uint32_t> seen_{0};  ///< posts
  std::atomic<std::size_t> last_{0};    ///< slot from which something was taken
};

}  // namespace mpixrma::engine
