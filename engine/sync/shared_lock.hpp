/// A lock of a process in memory shared by the processes of its host: a free lock is acquired and released by
/// one atomic instruction. If it is not free, the request goes to the process's agent, which keeps the queue
/// (engine/sync/lock_table.hpp).
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/sync/lock.hpp"

namespace mpixrma::engine {

/// Identifies a holder: the pid, the low bits of the identity, which distinguish the engines of a process,
/// and the owner's number. Never 0.
using Holder = std::uint64_t;

inline constexpr unsigned pid_bits = 22;  ///< maximum of Linux
inline constexpr unsigned identity_bits = 16;

constexpr Holder holder_of(pid_t pid, std::uint64_t process, std::uint32_t owner) noexcept {
  std::uint64_t const identity = process % (std::uint64_t{1} << identity_bits);
  return static_cast<std::uint32_t>(pid) | identity << pid_bits |
         std::uint64_t{owner} << (pid_bits + identity_bits);
}
constexpr pid_t pid_of(Holder holder) noexcept {
  return static_cast<pid_t>(holder % (std::uint64_t{1} << pid_bits));
}
constexpr std::uint32_t owner_of(Holder holder) noexcept {
  return static_cast<std::uint32_t>(holder >> (pid_bits + identity_bits));
}
static_assert(holder_of((1 << pid_bits) - 1, UINT64_MAX, max_lock_owners - 1) ==
              (std::uint64_t{1} << 62) - 1);

/// A template of its atomics, so that lock_free_model_test.cpp can check it against the memory model.
///
/// `word_` is 0 if the lock does not exist, else `exists`, plus `queued` while the agent has granted the lock
/// or requests wait in its queue, plus the exclusive holder. A request succeeds only if `word_` is exactly
/// `exists`. A shared holder first stores its entry and then reads `word_`; an exclusive one first stores
/// itself in `word_` and then reads the entries, and so does the agent with `queued`. These accesses are
/// sequentially consistent: of two conflicting parties, at least one sees the other. The entries from `used_`
/// on have never been used, and are not read: a shared holder raises `used_` before it stores its entry.
///
/// A party that removes a value that the agent may have seen (a holder on release, or a rejected one) checks
/// for `queued` in the same step or afterwards, and notifies the agent if `queued` is set.
///
/// The release is a release operation. The read that admits a holder is an acquire operation and reads the
/// value written by the last release, or one derived from it by read-modify-writes.
template <template <typename> class Atomic, std::size_t Shares>
class alignas(128) BasicSharedLock {
 public:
  enum class Outcome : std::uint8_t {
    done,
    refused,  ///< lock: must be requested from the agent; unlock: not held here
    missing   ///< the lock does not exist
  };
  struct Result {
    Outcome outcome;
    bool agent_has_requests;  ///< the agent must check its queue
  };

  Result try_lock(Holder holder, LockMode mode) noexcept {
    return mode == LockMode::exclusive ? try_exclusive(holder) : try_shared(holder);
  }

  Result unlock(Holder holder) noexcept {
    // Relaxed: a holder sees its own exclusive acquisition.
    std::uint64_t present = word_.load(std::memory_order_relaxed);
    while ((present & holder_bits) == holder) {
      // Release: pairs with the acquire of the next holder's exchange; sequentially consistent because of
      // `queued`.
      if (word_.compare_exchange_strong(present, present & ~holder_bits, std::memory_order_seq_cst,
                                        std::memory_order_relaxed))
        return {Outcome::done, (present & queued) != 0};
    }
    for (auto& share : shares_) {
      Holder entered = holder;
      // Relaxed: a holder sees its own entry; other values are irrelevant.
      if (share.load(std::memory_order_relaxed) == holder &&
          share.compare_exchange_strong(entered, 0, std::memory_order_seq_cst, std::memory_order_relaxed))
        return {Outcome::done, is_queued()};
    }
    return {Outcome::refused, false};
  }

  /// Whether `holder` has acquired the lock here.
  bool is_held_by(Holder holder) const noexcept { return mode_of(holder).has_value(); }
  /// Returns the mode in which `holder` has acquired the lock here, if it has.
  std::optional<LockMode> mode_of(Holder holder) const noexcept {
    if ((word_.load(std::memory_order_seq_cst) & holder_bits) == holder) return LockMode::exclusive;
    for (auto const& share : shares_) {
      if (share.load(std::memory_order_seq_cst) == holder) return LockMode::shared;
    }
    return std::nullopt;
  }

  /// Relaxed, because try_lock() decides.
  bool seems_free() const noexcept { return word_.load(std::memory_order_relaxed) == exists; }

  // A waiting process sets a hint, and a process that releases the lock then yields; relaxed throughout.
  void want() noexcept {
    if (!is_wanted()) wanted_.store(1, std::memory_order_relaxed);
  }
  bool is_wanted() const noexcept { return wanted_.load(std::memory_order_relaxed) != 0; }
  void clear_waiter_hint() noexcept { wanted_.store(0, std::memory_order_relaxed); }

  bool is_queued() const noexcept { return (word_.load(std::memory_order_seq_cst) & queued) != 0; }

  // For the process that owns the lock.

  void create() noexcept {
    clear_shares();
    word_.store(exists, std::memory_order_seq_cst);
  }
  void destroy() noexcept {
    word_.store(0, std::memory_order_seq_cst);
    clear_shares();
  }

  /// Makes all later requests go to the agent. Returns false if the lock does not exist.
  bool set_queued() noexcept {
    return change([](std::uint64_t word) { return word | queued; });
  }
  /// Called when no request waits at the agent and no grant of the agent is left.
  void clear_queued() noexcept {
    (void)change([](std::uint64_t word) { return word & ~queued; });
  }

  /// While `queued` is set: whether the agent may grant the lock, as far as holders are concerned that have
  /// acquired it here.
  bool admits(LockMode mode) const noexcept {
    if ((word_.load(std::memory_order_seq_cst) & holder_bits) != 0) return false;
    return mode == LockMode::shared || has_no_shares();
  }

  /// Calls visit(holder) for all holders that have acquired the lock here.
  template <typename Visitor>
  void for_each_holder(Visitor visit) noexcept {
    remove_holders_unless([&](Holder holder) {
      visit(holder);
      return true;
    });
  }

  /// As for_each_holder(), and removes the holders for which `visit` returns false.
  template <typename Visitor>
  void remove_holders_unless(Visitor visit) noexcept {
    std::uint64_t word = word_.load(std::memory_order_seq_cst);
    // Acquire, here and below: the next holder comes after everything that the removed holder came after.
    if ((word & holder_bits) != 0 && !visit(word & holder_bits))
      (void)word_.compare_exchange_strong(word, word & ~holder_bits, std::memory_order_seq_cst,
                                          std::memory_order_relaxed);
    for (auto& share : shares_) {
      Holder entered = share.load(std::memory_order_seq_cst);
      if (entered != 0 && !visit(entered))
        (void)share.compare_exchange_strong(entered, 0, std::memory_order_seq_cst, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::uint64_t exists = std::uint64_t{1} << 63;
  static constexpr std::uint64_t queued = std::uint64_t{1} << 62;
  static constexpr std::uint64_t holder_bits = queued - 1;

  Result try_exclusive(Holder holder) noexcept {
    std::uint64_t present = exists;
    if (!word_.compare_exchange_strong(present, exists | holder, std::memory_order_seq_cst,
                                       std::memory_order_relaxed))
      return {(present & exists) != 0 ? Outcome::refused : Outcome::missing, false};
    if (has_no_shares()) return {Outcome::done, false};
    return {Outcome::refused, unlock(holder).agent_has_requests};
  }

  Result try_shared(Holder holder) noexcept {
    std::uint64_t const before = word_.load(std::memory_order_seq_cst);
    if (before != exists) return {(before & exists) != 0 ? Outcome::refused : Outcome::missing, false};
    Atomic<Holder>* const entry = enter(holder);
    if (entry == nullptr) return {Outcome::refused, false};
    if (word_.load(std::memory_order_seq_cst) == exists) return {Outcome::done, false};
    Holder entered = holder;
    (void)entry->compare_exchange_strong(entered, 0, std::memory_order_seq_cst, std::memory_order_relaxed);
    return {Outcome::refused, is_queued()};
  }

  /// Returns nullptr if there is no room, or the holder has an entry already.
  Atomic<Holder>* enter(Holder holder) noexcept {
    // Relaxed, here and below: a holder sees its own entry, and an empty entry is only a hint.
    for (auto const& share : shares_) {
      if (share.load(std::memory_order_relaxed) == holder) return nullptr;
    }
    for (auto& share : shares_) {
      Holder nobody = 0;
      if (share.load(std::memory_order_relaxed) != 0) continue;
      raise_used(static_cast<std::uint32_t>(&share - shares_.data()) + 1);
      if (share.compare_exchange_strong(nobody, holder, std::memory_order_seq_cst, std::memory_order_relaxed))
        return &share;
    }
    return nullptr;
  }

  template <typename Change>
  bool change(Change changed) noexcept {
    std::uint64_t present = word_.load(std::memory_order_seq_cst);
    while ((present & exists) != 0) {
      if (word_.compare_exchange_strong(present, changed(present), std::memory_order_seq_cst,
                                        std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// Never lowered: a process that has raised it may store its entry at any later time.
  void raise_used(std::uint32_t entries) noexcept {
    std::uint32_t present = used_.load(std::memory_order_seq_cst);
    while (present < entries && !used_.compare_exchange_weak(present, entries, std::memory_order_seq_cst,
                                                             std::memory_order_seq_cst)) {
    }
  }
  bool has_no_shares() const noexcept {
    // The bound, because other processes can write `used_`.
    std::size_t const used = std::min<std::size_t>(used_.load(std::memory_order_seq_cst), Shares);
    for (std::size_t share = 0; share < used; ++share) {
      if (shares_[share].load(std::memory_order_seq_cst) != 0) return false;
    }
    return true;
  }
  void clear_shares() noexcept {
    for (auto& share : shares_) share.store(0, std::memory_order_seq_cst);
  }

  Atomic<std::uint64_t> word_{0};
  Atomic<std::uint32_t> wanted_{0};
  Atomic<std::uint32_t> used_{0};  ///< number of entries that shared holders have used so far
  std::array<Atomic<Holder>, Shares> shares_{};
};

using SharedLock = BasicSharedLock<std::atomic, 14>;
static_assert(sizeof(SharedLock) == 128);

/// Locks from this number on have no word: they are requested from their process only.
inline constexpr std::uint32_t shared_lock_count = 4096;
using SharedLocks = std::array<SharedLock, shared_lock_count>;

/// Called after the release of a lock that others wait for: watches the lock briefly, and yields if nobody
/// acquires it, because a waiting process may need this processor.
void give_way(SharedLock& lock) noexcept;

/// For repeatedly rejected requests: checks from time to time whether a process that has acquired the lock
/// has ended; returns false between the checks.
bool may_be_orphaned(SharedLock& lock) noexcept;

}  // namespace mpixrma::engine
