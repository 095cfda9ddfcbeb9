/// A process that this one talks to: how to reach its memory, and what is still on its way to it.
///
/// The hot path of the engine is inline here: reach() answers with one cached look-up whether an
/// address of the peer can be touched by load and store.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/atomic/stripes.hpp"
#include "engine/operation.hpp"

namespace mpix::engine {

/// One segment of a peer as it is mapped here. Read without a lock: `version` is odd while it changes,
/// and `generation` is compared with the owner's, so that a freed segment is never reached.
struct MappedSegment {
  std::atomic<std::uint32_t> version{0};
  std::atomic<RemoteAddress> begin{0};
  std::atomic<std::uint64_t> length{0};    ///< bytes; 0: nothing here, the rest is not looked at
  std::atomic<std::byte*> local{nullptr};  ///< where `begin` is mapped
  std::atomic<std::atomic<std::uint64_t> const*> owner_generation{nullptr};
  std::atomic<std::uint64_t> generation{0};
};

struct PeerState;

class Peer {
 public:
  explicit Peer(std::uint64_t process);
  ~Peer();

  /// Local pointer to the `bytes` bytes at `address` of the peer, or nullptr: not in a segment that is
  /// mapped here, no longer valid, or earlier messages must be waited for first. A nullptr does not
  /// mean that the address is bad: Engine::issue finds out.
  std::byte* reach(RemoteAddress address, std::size_t bytes) const noexcept {
    MappedSegment const& segment = mapped_[slot_of(address)];
    auto const version = segment.version.load(std::memory_order_acquire);
    // Each value is used at once, to keep few registers busy. Values of two different states only lead to
    // the slow way, or are found out by the version at the end.
    RemoteAddress const offset = address - segment.begin.load(std::memory_order_relaxed);
    std::uint64_t const length = segment.length.load(std::memory_order_relaxed);
    if (offset >= length || bytes > length - offset) return nullptr;
    auto const* const owner = segment.owner_generation.load(std::memory_order_relaxed);
    if (owner->load(std::memory_order_acquire) != segment.generation.load(std::memory_order_relaxed))
      return nullptr;
    std::byte* const local = segment.local.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (segment.version.load(std::memory_order_relaxed) != version || version % 2 != 0) return nullptr;
    if (messages_before_stores_.load(std::memory_order_relaxed) != 0) return nullptr;
    return local + offset;
  }

  std::uint64_t process() const noexcept { return process_; }

  /// The locks of the peer's memory; only of a peer on this host, so not null when reach() succeeded.
  StripeTable* stripes() const noexcept { return stripes_; }
  void set_stripes(StripeTable& stripes) noexcept { stripes_ = &stripes; }

  /// Sequence of the newest message that was issued to the peer.
  std::uint64_t newest() const noexcept { return issued_.load(std::memory_order_relaxed); }

  /// What the engine keeps beyond the hot path (engine/peer/peer_state.hpp).
  PeerState& state() noexcept { return *state_; }

  /// Where reach() looks for `address`.
  MappedSegment& slot(RemoteAddress address) noexcept { return mapped_[slot_of(address)]; }

  /// Stores must not overtake the messages up to `sequence`: reach() fails until allow_stores.
  void hold_stores(std::uint64_t sequence) noexcept {
    auto present = messages_before_stores_.load(std::memory_order_relaxed);
    while (present < sequence && !messages_before_stores_.compare_exchange_weak(present, sequence,
                                                                                std::memory_order_release,
                                                                                std::memory_order_relaxed)) {
    }
  }
  std::uint64_t stores_held_by() const noexcept {
    return messages_before_stores_.load(std::memory_order_acquire);
  }
  /// Lifts hold_stores(sequence) unless a later one has replaced it.
  void allow_stores(std::uint64_t sequence) noexcept {
    messages_before_stores_.compare_exchange_strong(sequence, 0, std::memory_order_acq_rel);
  }

  /// Takes the next `count` positions of the message stream; returns the last. Under the engine's lock.
  std::uint64_t reserve(std::uint64_t count) noexcept {
    std::uint64_t const last = issued_.load(std::memory_order_relaxed) + count;
    issued_.store(last, std::memory_order_relaxed);
    return last;
  }

 private:
  static constexpr std::size_t slots = 32;
  static constexpr unsigned slot_shift = 18;  // neighbouring 256 KiB blocks take different slots
  static std::size_t slot_of(RemoteAddress address) noexcept { return (address >> slot_shift) % slots; }

  std::uint64_t process_ = 0;
  /// Not zero after a fence that has messages before it: a store must not overtake them.
  std::atomic<std::uint64_t> messages_before_stores_{0};
  std::atomic<std::uint64_t> issued_{0};
  StripeTable* stripes_ = nullptr;
  std::array<MappedSegment, slots> mapped_{};
  std::unique_ptr<PeerState> state_;
};

}  // namespace mpix::engine
