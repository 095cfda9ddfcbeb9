/// What all who map the memory of a grant share besides it: the stripes that keep their operations atomic,
/// the windows that are there still, and locks on regions of windows. Made by the grant's data process, and
/// kept with the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "engine/sync/lock.hpp"
#include "engine/sync/stripes.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

using engine::FileDescriptor;

class SharedControl {
 public:
  using Slot = std::uint32_t;
  using Generation = std::atomic<std::uint64_t>;

  /// With room for so many windows. Throws Error(no_space).
  static SharedControl make(std::uint64_t windows);
  /// One that was made before. Throws Error(unavailable) where it is none.
  explicit SharedControl(FileDescriptor descriptor);
  /// The same for the data process, which passes `descriptor` on: whoever maps it may have changed every
  /// byte, so that only its length counts.
  static SharedControl take_over(FileDescriptor descriptor);

  /// The locks of whoever uses the new descriptor are told from those of all others. Throws Error.
  FileDescriptor reopen() const;
  FileDescriptor const& descriptor() const noexcept { return descriptor_; }

  /// Stripes are chosen by the offset in the grant.
  engine::StripeTable& stripes() const noexcept { return header().stripes; }

  /// Changes when the window in this place has ended.
  Generation const& generation(Slot slot) const noexcept { return entry(slot).generation; }
  std::uint64_t slots() const noexcept { return slots_; }

  /// Whether there is a window in this place.
  bool is_taken(Slot slot) const noexcept;

  // For the data process. Windows are known by their identifiers. Which places are taken it knows by itself:
  // all that stands in the shared memory may be forged.

  /// The place that a window has had in an earlier data process, and keeps.
  std::optional<Slot> find(std::string const& window) noexcept;
  /// A place for a window that has none; nothing where all are taken.
  std::optional<Slot> place(std::string const& window) noexcept;
  /// The window ends, and its place is free.
  void free_place(Slot slot) noexcept;
  /// The window ends. Also by whoever finds that the data process has gone.
  void withdraw(Slot slot) const noexcept;
  /// Those that are not among `windows`.
  void withdraw_others(std::vector<std::string> const& windows) noexcept;

  // For those who map the memory.

  /// The window of this generation ends, and its memory, which is zero, is free for another one of the same
  /// session until somebody takes it: take_spare() with the generation that this returns. 0: the window had
  /// ended before. By the session that has allocated it.
  std::uint64_t offer_spare(Slot slot, std::uint64_t generation) const noexcept;
  /// False: it was taken, or has gone. Otherwise there is a window again, of this generation.
  bool take_spare(Slot slot, std::uint64_t generation) const noexcept;
  /// The generation of what is offered in this place; 0: nothing is.
  std::uint64_t spare(Slot slot) const noexcept;

  /// One attempt to take the lock of a rank's region of a window. `*has_turn` begins as false, or, for a
  /// share, as true for whoever may overtake those who wait, and is kept from one attempt to the next: who
  /// has the right to be the next is overtaken by nobody else. Throws Error(no_space) where the system has no
  /// room for locks. A process that ends loses its locks.
  bool try_lock(Slot slot, std::uint32_t rank, engine::LockMode mode, bool* has_turn) const;
  /// Gives back the lock, or the turn.
  void unlock(Slot slot, std::uint32_t rank) const noexcept { release_range(2 * region(slot, rank), 2); }
  /// Gives back all locks and turns of the window.
  void unlock_all(Slot slot) const noexcept {
    release_range(2 * region(slot, 0), std::uint64_t{2} << rank_bits);
  }

 private:
  struct Entry {
    Generation generation;
    std::atomic<std::uint64_t> window;  ///< of its identifier; 0: free
    std::atomic<std::uint64_t> spare;   ///< a generation: the place waits for a window; 0: it does not
  };
  struct Header {
    std::uint64_t mark;
    std::uint64_t slots;
    engine::StripeTable stripes;
  };
  static constexpr unsigned rank_bits = 16;

  static std::uint64_t region(Slot slot, std::uint32_t rank) noexcept {
    return std::uint64_t{slot} << rank_bits | rank;
  }
  static constexpr std::size_t bytes_for(std::uint64_t slots) noexcept {
    return sizeof(Header) + slots * sizeof(Entry);
  }
  Header& header() const noexcept { return *reinterpret_cast<Header*>(mapping_.base()); }
  Entry& entry(std::uint64_t slot) const noexcept {
    return reinterpret_cast<Entry*>(mapping_.base() + sizeof(Header))[slot];
  }
  static FileDescriptor create(std::uint64_t slots);
  SharedControl(FileDescriptor descriptor, bool believes_header);
  bool try_range(std::uint64_t begin, std::uint64_t length, engine::LockMode mode) const;
  void release_range(std::uint64_t begin, std::uint64_t length) const noexcept;

  FileDescriptor descriptor_;
  engine::Mapping mapping_;
  std::uint64_t slots_ = 0;
  std::vector<bool> taken_;  ///< of the data process, from its first window on
  std::uint64_t next_ = 0;   ///< where the search for a free place begins
};

}  // namespace mpixrma::nam
