/// State shared by all processes that map the memory of a grant: the stripes that make their operations
/// atomic, the generations of live windows, and locks on regions of windows. The grant's data process creates
/// it, and it is kept with the memory.
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

  /// Creates the state for `windows` windows. Throws Error(no_space).
  static SharedControl make(std::uint64_t windows);
  /// Opens existing state. Throws Error(unavailable) if the descriptor does not contain it.
  explicit SharedControl(FileDescriptor descriptor);
  /// As the constructor for the data process, which passes `descriptor` on: a process that maps it may have
  /// changed every byte, so only its length is trusted.
  static SharedControl take_over(FileDescriptor descriptor);

  /// Returns a new descriptor whose locks are distinct from those of all other descriptors. Throws Error.
  FileDescriptor reopen() const;
  FileDescriptor const& descriptor() const noexcept { return descriptor_; }

  /// Stripes are chosen by the offset in the grant.
  engine::StripeTable& stripes() const noexcept { return header().stripes; }

  /// Changes when the window in this slot ends.
  Generation const& generation(Slot slot) const noexcept { return entry(slot).generation; }
  std::uint64_t slots() const noexcept { return slots_; }

  /// Whether the slot has a window.
  bool is_taken(Slot slot) const noexcept;

  // For the data process. Windows are identified by hashes. The process records the taken slots privately,
  // because all data in the shared memory may be forged.

  /// Returns the slot of a window from an earlier data process, and takes it.
  std::optional<Slot> find(std::string const& window) noexcept;
  /// Returns a slot for a new window; nothing if all are taken.
  std::optional<Slot> place(std::string const& window) noexcept;
  /// Ends the window and frees its slot.
  void free_slot(Slot slot) noexcept;
  /// Ends the window. Also called by clients that detect the end of the data process.
  void withdraw(Slot slot) const noexcept;
  /// Ends the windows that are not among `windows`.
  void withdraw_others(std::vector<std::string> const& windows) noexcept;

  // For processes that map the memory.

  /// Ends the window of this generation and caches its zeroed memory for another window of the same session:
  /// the result is the generation for take_cached(), or 0 if the window had ended before. Called by the
  /// session that has allocated the window.
  std::uint64_t cache_window(Slot slot, std::uint64_t generation) const noexcept;
  /// Returns false if the cached window was taken or withdrawn. Otherwise the slot has a window of this
  /// generation again.
  bool take_cached(Slot slot, std::uint64_t generation) const noexcept;
  /// Returns the generation of the cached window in this slot; 0 if there is none.
  std::uint64_t cached(Slot slot) const noexcept;

  /// Tries once to acquire the lock of a rank's region of a window. `*has_turn` starts as false, or as true
  /// for a shared lock that may overtake waiting requests, and must be kept between attempts: only such
  /// shared locks overtake the process that has the turn. Throws Error(no_space) if the system has no memory
  /// for locks. A process that ends loses its locks.
  bool try_lock(Slot slot, std::uint32_t rank, engine::LockMode mode, bool* has_turn) const;
  /// Releases the lock or the turn.
  void unlock(Slot slot, std::uint32_t rank) const noexcept { release_range(2 * region(slot, rank), 2); }
  /// Releases all locks and turns of the window.
  void unlock_all(Slot slot) const noexcept {
    release_range(2 * region(slot, 0), std::uint64_t{2} << rank_bits);
  }

 private:
  struct Entry {
    Generation generation;
    std::atomic<std::uint64_t> window;  ///< hash of the window's identifier; 0: free
    std::atomic<std::uint64_t> cached;  ///< generation of the cached window; 0: none
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
  /// Whether the header is read, or written by the data process, which trusts no memory that others map.
  enum class HeaderAccess : std::uint8_t { read, write };
  SharedControl(FileDescriptor descriptor, HeaderAccess access);
  bool try_range(std::uint64_t begin, std::uint64_t length, engine::LockMode mode) const;
  void release_range(std::uint64_t begin, std::uint64_t length) const noexcept;

  FileDescriptor descriptor_;
  engine::Mapping mapping_;
  std::uint64_t slots_ = 0;
  std::vector<bool> taken_;  ///< slots that the data process has assigned; sized with its first window
  std::uint64_t next_ = 0;   ///< where the search for a free slot begins
};

}  // namespace mpixrma::nam
