/// A process that this one communicates with: access to its memory, and the messages outstanding to it.
///
/// The hot path of the engine is inline here: translate() looks up an address of the peer in a cache of the
/// peer's segments, which determines whether the address can be accessed by load and store.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/op/operation.hpp"
#include "engine/origin/access_guard.hpp"
#include "engine/origin/mapped_segment.hpp"
#include "engine/sync/stripes.hpp"

/// The type of a peer in the C interface.
struct mpix_engine_peer {};

namespace mpixrma::engine {

/// A cache of a peer's segments, indexed by address: large segments by higher address bits than small ones,
/// so that neighbours do not evict each other.
class MappedSegments {
 public:
  /// Returns a local pointer to the `bytes` bytes at `address`, or nullptr.
  std::byte* translate(RemoteAddress address, std::size_t bytes) const noexcept {
    std::byte* const found = large_[place(address, large_shift, large_.size())].translate(address, bytes);
    return found != nullptr ? found : translate_smaller(address, bytes);
  }
  /// As translate(), in all but the small segments; it calls no function.
  std::byte* translate_inline(RemoteAddress address, std::size_t bytes) const noexcept {
    std::byte* const found = large_[place(address, large_shift, large_.size())].translate(address, bytes);
    return found != nullptr ? found
                            : medium_[place(address, medium_shift, medium_.size())].translate(address, bytes);
  }

  /// Returns the segment in which translate(address, ...) has just succeeded; empty if it has changed since.
  SegmentView view(RemoteAddress address) const noexcept;

  /// Returns the slot in which translate() looks for `address` in a segment of `length` bytes.
  MappedSegment& slot(RemoteAddress address, std::size_t length) noexcept {
    if (length >= std::size_t{1} << large_shift) return large_[place(address, large_shift, large_.size())];
    if (length >= std::size_t{1} << medium_shift)
      return medium_[place(address, medium_shift, medium_.size())];
    return small_[place(address, small_shift, small_.size())];
  }

 private:
  static constexpr unsigned large_shift = 18;
  static constexpr unsigned medium_shift = 12;
  static constexpr unsigned small_shift = 6;

  static constexpr std::size_t place(RemoteAddress address, unsigned shift, std::size_t slots) noexcept {
    return (address >> shift) % slots;
  }

  std::byte* translate_smaller(RemoteAddress address, std::size_t bytes) const noexcept;

  std::array<MappedSegment, 32> large_{};
  std::array<MappedSegment, 32> medium_{};
  std::array<MappedSegment, 64> small_{};
};

struct PeerState;

/// The lookup of mapped memory of the target for an operation by load and store.
enum class Lookup : std::uint8_t {
  usual,
  traced  ///< while a trace is written: the caller records the operation
};

class Peer : public mpix_engine_peer {
 public:
  /// Creates the peer object: a LocalPeer if the process shares memory with this one.
  static std::unique_ptr<Peer> make(std::uint64_t process, std::unique_ptr<PeerState> state);
  Peer(std::uint64_t process, std::unique_ptr<PeerState> state);
  virtual ~Peer();
  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  /// Returns a local pointer to the `bytes` bytes at `address` of the peer, or nullptr if they are not in a
  /// mapped segment, the segment is no longer valid, earlier messages must be waited for, or the access must
  /// be recorded in the trace. nullptr does not imply an invalid address; Engine::issue determines the
  /// reason.
  std::byte* translate(RemoteAddress address, std::size_t bytes) const noexcept {
    return direct_access_is_guarded() ? nullptr : mapped().translate(address, bytes);
  }

  /// As translate(), in all but small segments. It calls no function, so that a caller with nothing else to
  /// do need not save registers.
  std::byte* translate_inline(RemoteAddress address, std::size_t bytes) const noexcept {
    return direct_access_is_guarded() ? nullptr : mapped().translate_inline(address, bytes);
  }

  /// As translate(), for callers that record the access in the trace if one is written.
  std::byte* translate_traced(RemoteAddress address, std::size_t bytes) const noexcept {
    if (direct_access_is_deferred()) return nullptr;
    // Most segments are found without a call of a function.
    std::byte* const found = mapped().translate_inline(address, bytes);
    return found != nullptr ? found : mapped().translate(address, bytes);
  }

  /// As MappedSegments::view, for a peer whose translate() or translate_traced() has just succeeded.
  SegmentView view(RemoteAddress address) const noexcept { return mapped().view(address); }

  /// Whether direct access is deferred, or must be recorded in the trace.
  bool direct_access_is_guarded() const noexcept { return guard_.is_set(); }
  /// Whether loads and stores must wait for messages, the peer is lost, or it shares no memory with this
  /// process: no segment may be accessed directly now.
  bool direct_access_is_deferred() const noexcept { return guard_.sequence() != 0; }
  /// Whether a trace is written, and the peer shares memory with this process.
  bool direct_access_is_traced() const noexcept { return guard_.is_traced(); }
  /// Before other threads know of the peer.
  void trace_direct_access() noexcept { guard_.trace(); }

  std::uint64_t process() const noexcept { return process_; }

  /// The locks of the peer's memory; null for a peer that does not share memory with this process. Not null
  /// if translate() succeeded.
  StripeTable* stripes() const noexcept { return stripes_; }

  /// Sequence of the newest message that was issued to the peer. Relaxed: of the operations of other threads,
  /// it must cover only those that the caller knows of by other means.
  std::uint64_t newest() const noexcept { return issued_.load(std::memory_order_relaxed); }

  /// The state outside of the hot path (engine/origin/peer_state.hpp).
  PeerState& state() noexcept { return *state_; }

  /// Returns the slot in which translate() looks for an address in a segment of `length` bytes. For a peer on
  /// this host.
  MappedSegment& slot(RemoteAddress address, std::size_t length) noexcept;

  /// Loads and stores must not overtake the messages up to `sequence`: translate() fails until
  /// allow_direct_access.
  void defer_direct_access(std::uint64_t sequence) noexcept { guard_.raise(sequence); }
  /// For defer_direct_access(): loads and stores must not overtake messages to other peers either.
  static constexpr std::uint64_t deferred_by_multi_peer_fence = AccessGuard::max_sequence - 2;
  /// Replaces `deferred_by_multi_peer_fence` by a position, or 0.
  void end_multi_peer_deferral(std::uint64_t sequence) noexcept {
    guard_.replace(deferred_by_multi_peer_fence, sequence);
  }
  std::uint64_t access_deferred_until() const noexcept { return guard_.sequence(); }
  /// Undoes defer_direct_access(sequence) unless a later call has replaced it.
  void allow_direct_access(std::uint64_t sequence) noexcept {
    if (sequence < deferred_by_multi_peer_fence) guard_.clear(sequence);
  }

  /// Marks the process as permanently unreachable. Its memory may still be mapped, but translate() fails from
  /// here on.
  void mark_unreachable() noexcept {
    guard_.raise(lost_);
    mark_unreachable_by_messages();
  }
  bool is_lost() const noexcept { return guard_.is_at_maximum(); }
  /// Marks the process as out of reach of messages. It may be alive, and shared memory stays accessible, but
  /// no lock may be acquired there: the agent would not be notified of its release.
  void mark_unreachable_by_messages() noexcept {
    unreachable_by_messages_.store(true, std::memory_order_relaxed);
  }
  bool is_unreachable_by_messages() const noexcept {
    return unreachable_by_messages_.load(std::memory_order_relaxed);
  }
  /// Marks the process as unable to change memory of this one from here on, although it may be alive: no
  /// signal of the process arrives any more.
  void mark_silent() noexcept { silent_.store(true, std::memory_order_relaxed); }
  bool is_silent() const noexcept { return is_lost() || silent_.load(std::memory_order_relaxed); }
  /// Records that this process signals to the peer by messages, because loads and stores do not reach the
  /// memory that the signals change.
  void require_messages() noexcept { messages_required_.store(true, std::memory_order_relaxed); }
  bool requires_messages() const noexcept { return messages_required_.load(std::memory_order_relaxed); }
  /// The guard, for callers that often ask whether the process is lost: it is at its maximum then.
  AccessGuard const& guard() const noexcept { return guard_; }

  /// Reserves the next `count` positions of the message stream; returns the last one. Under the channel's
  /// lock.
  std::uint64_t reserve(std::uint64_t count) noexcept {
    std::uint64_t const last = issued_.load(std::memory_order_relaxed) + count;
    issued_.store(last, std::memory_order_relaxed);
    return last;
  }

 private:
  // Permanent values: the process is unreachable; its memory is never accessed by load and store.
  static constexpr std::uint64_t lost_ = AccessGuard::max_sequence;
  static constexpr std::uint64_t remote_ = lost_ - 1;

  inline MappedSegments const& mapped() const noexcept;

  std::uint64_t process_ = 0;
  /// The position that loads and stores must not overtake, or one of the special values above; 0: none.
  AccessGuard guard_;
  std::atomic<std::uint64_t> issued_{0};
  StripeTable* stripes_ = nullptr;
  std::unique_ptr<PeerState> state_;
  std::atomic<bool> unreachable_by_messages_{false};
  std::atomic<bool> silent_{false};
  std::atomic<bool> messages_required_{false};
};

/// A peer whose memory may be mapped here. For all other peers translate() returns before it looks for
/// segments, so they do not store any.
class LocalPeer final : public Peer {
 private:
  friend class Peer;
  using Peer::Peer;
  MappedSegments mapped_;
};

inline MappedSegments const& Peer::mapped() const noexcept {
  return static_cast<LocalPeer const*>(this)->mapped_;
}

}  // namespace mpixrma::engine
