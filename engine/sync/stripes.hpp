/// Atomicity of more than one CPU instruction: locks over address stripes of a process.
///
/// The locks stand in the process's control segment, so that an origin on the same host and the process's
/// own agent take the same ones. A stripe is chosen by the virtual address in the process, whatever path
/// leads there. Memory that an operation updates is locked exclusively, memory that it only reads is
/// shared. Whoever takes several stripes takes them in ascending order, and those of the process with the
/// lower identity first: nobody waits in a circle.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/op/operation.hpp"
#include "engine/op/kernel/update_modes.hpp"

namespace mpixrma::engine {

/// Bit i set: stripe i is needed.
using StripeSet = std::uint64_t;

inline constexpr unsigned stripe_count = 64;
inline constexpr unsigned stripe_shift = 14;  ///< 16 KiB: one lock for a small operation, few for a large one

/// Stripes of the addresses [begin, end).
constexpr StripeSet stripes_of(RemoteAddress begin, RemoteAddress end) noexcept {
  if (begin >= end) return 0;
  RemoteAddress const first = begin >> stripe_shift;
  RemoteAddress const last = (end - 1) >> stripe_shift;
  if (last - first >= stripe_count - 1) return ~StripeSet{0};
  auto const width = static_cast<unsigned>(last - first + 1);
  auto const shift = static_cast<unsigned>(first % stripe_count);
  StripeSet const ones = (StripeSet{1} << width) - 1;
  return shift == 0 ? ones : (ones << shift) | (ones >> (stripe_count - shift));
}

/// What an operation needs of one process. A stripe in both sets is taken exclusively.
struct StripeSets {
  StripeSet exclusive = 0;
  StripeSet shared = 0;

  constexpr bool empty() const noexcept { return (exclusive | shared) == 0; }
  constexpr StripeSets operator|(StripeSets const& other) const noexcept {
    return {exclusive | other.exclusive, shared | other.shared};
  }
};

/// One lock, shared between processes, that knows the processes which hold it: those that ended meanwhile do
/// not keep it. Zero-initialised memory is an open lock.
///
/// `writer_` is 0, or `shared` while there may be readers, and besides has the pid of the announced writer. A
/// writer that finds 0 has the lock at once; otherwise it announces itself first and then looks at the
/// entries. A reader enters itself first and then looks at `writer_`: nothing but `shared` alone lets it in.
/// All of this is sequentially consistent. A writer that announces itself after that look of the reader, in
/// the single total order, finds `shared` and the entry, until the reader leaves: `shared` is taken away only
/// by writers that have found no entries since they announced themselves. A writer that announced itself
/// before that look has left before it, or has ended, for nothing else takes its pid away.
///
/// Whoever leaves does so by a release operation. The look that lets somebody in is an acquire operation and
/// reads the value of the last one to leave, or one that was made of it by read-modify-writes only, or by
/// somebody who had read that: it comes after all that the holders before did.
///
/// Threads of a process are not told apart: each of its shares is any of the entries with its pid.
class alignas(64) StripeLock {
 public:
  enum class Writer : std::uint8_t {
    refused,    ///< there is another one
    announced,  ///< new readers and other writers are kept out; has the lock when has_no_readers()
    alone       ///< has the lock
  };

  Writer announce_writer(pid_t self) noexcept {
    std::uint32_t present = 0;
    auto const pid = static_cast<std::uint32_t>(self);
    if (writer_.compare_exchange_strong(present, pid, std::memory_order_seq_cst, std::memory_order_relaxed))
      return Writer::alone;
    return present == shared ? announce_beside_readers(pid) : Writer::refused;
  }
  /// Has the lock afterwards, unless anybody has it or has had it shared since: then nothing is done.
  bool try_lock_untouched(pid_t self) noexcept {
    std::uint32_t present = 0;
    auto const pid = static_cast<std::uint32_t>(self);
    return writer_.compare_exchange_strong(present, pid, std::memory_order_seq_cst,
                                           std::memory_order_relaxed);
  }
  /// For the announced writer: whether all readers have left.
  bool has_no_readers() const noexcept;
  /// By the writer that has the lock.
  void unlock() noexcept { writer_.store(0, std::memory_order_release); }
  /// By the announced writer that does not have it yet.
  void withdraw_writer() noexcept { writer_.store(shared, std::memory_order_release); }

  bool try_lock_shared(pid_t self) noexcept;
  void unlock_shared(pid_t self) noexcept;

  /// To be called by those who wait for the lock, again and again: from time to time it takes the lock away
  /// from processes that have ended.
  void doubt_holders() noexcept;

 private:
  static constexpr std::uint32_t shared = std::uint32_t{1} << 31;

  bool exchange_entry(pid_t self, std::uint32_t present, std::uint32_t next) noexcept;
  Writer announce_beside_readers(std::uint32_t pid) noexcept;
  bool drop_dead_holders() noexcept;

  std::atomic<std::uint32_t> writer_{0};                  ///< `shared` and a pid; both may be missing
  std::array<std::atomic<std::uint32_t>, 15> readers_{};  ///< a pid for each share
};
static_assert(sizeof(StripeLock) == 64);

/// What a process shares with the others on its host for the sake of atomicity.
struct StripeTable {
  std::array<StripeLock, stripe_count> locks;
  UpdateModes modes;

  StripeLock& operator[](std::size_t stripe) noexcept { return locks[stripe]; }
};
static_assert(granule_shift <= stripe_shift &&
                  (granule_count << granule_shift) % (std::size_t{stripe_count} << stripe_shift) == 0,
              "granules that share a mode share a stripe");

/// Addresses that differ by a multiple of it have the same stripe, and the same mode.
inline constexpr std::size_t stripe_period = granule_count << granule_shift;

/// Holds a set of stripes exclusively for a scope. Waits without driving progress: only for scopes whose
/// stripes nobody holds across messages to this process.
class StripeGuard {
 public:
  StripeGuard(StripeTable& table, StripeSet set) noexcept : table_(table), set_(set) {
    if (set != 0) lock();
  }
  ~StripeGuard() {
    for (StripeSet rest = set_; rest != 0; rest &= rest - 1)
      table_[static_cast<unsigned>(__builtin_ctzll(rest))].unlock();
  }
  StripeGuard(StripeGuard const&) = delete;
  StripeGuard& operator=(StripeGuard const&) = delete;

 private:
  void lock() noexcept;

  StripeTable& table_;
  StripeSet set_;
};

/// Holds the one stripe of a small range for a scope, where that is to be had at once.
class SmallGuard {
 public:
  /// `self`: own_process_id().
  SmallGuard(StripeTable& table, RemoteAddress begin, RemoteAddress end, pid_t self) noexcept {
    RemoteAddress const stripe = begin >> stripe_shift;
    if (stripe != (end - 1) >> stripe_shift) return;
    StripeLock& lock = table[stripe % stripe_count];
    if (lock.try_lock_untouched(self)) held_ = &lock;
  }
  ~SmallGuard() {
    if (held_ != nullptr) held_->unlock();
  }
  SmallGuard(SmallGuard const&) = delete;
  SmallGuard& operator=(SmallGuard const&) = delete;

  bool is_held() const noexcept { return held_ != nullptr; }

 private:
  StripeLock* held_ = nullptr;
};

/// Stripes of one process that are acquired step by step without blocking, and may be held for long.
class StripeHold {
 public:
  StripeHold() = default;
  StripeHold(StripeTable& table, StripeSets const& wanted) noexcept;
  ~StripeHold() { release(); }
  StripeHold(StripeHold&& other) noexcept { swap(other); }
  StripeHold& operator=(StripeHold&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Takes what it can get of the rest, in order, and keeps it, be it that it only waits for readers to
  /// leave; true when it has everything.
  bool acquire() noexcept;
  /// Gives back what it has; acquire() starts anew.
  void release() noexcept;

 private:
  void swap(StripeHold& other) noexcept;
  StripeLock& lock_of(StripeSet rest) const noexcept {
    return (*table_)[static_cast<unsigned>(__builtin_ctzll(rest))];
  }

  StripeTable* table_ = nullptr;
  StripeSet wanted_ = 0;
  StripeSet exclusive_ = 0;  ///< those of `wanted_` that are not shared
  StripeSet held_ = 0;
  StripeSet announced_ = 0;  ///< at most one more, where readers are to leave yet
};

/// The stripes of an operation in two processes, in the order in which they have to be taken.
struct Holds {
  StripeHold first;
  StripeHold second;

  /// Takes what it can get of the rest; true when it has everything.
  bool acquire() noexcept { return first.acquire() && second.acquire(); }
};

}  // namespace mpixrma::engine
