/// The lock of a stripe of a process's memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpixrma::engine {

/// A lock shared between processes that records the pids of its holders, so that processes that have ended do
/// not keep it. Zero-initialised memory is a free lock.
///
/// `writer_` is 0, or `shared` while there may be readers, plus the pid of the announced writer. A writer
/// that finds 0 has the lock at once; otherwise it first announces itself and then reads the entries. A
/// reader first stores its entry and then reads `writer_`; it succeeds only if `writer_` is exactly `shared`.
/// These accesses are sequentially consistent. A writer that announces itself after that read, in the single
/// total order, finds `shared` and the entry until the reader leaves: only writers that have found no entries
/// since they announced themselves clear `shared`. A writer that announced itself before that read has left
/// before that read, too, or has ended, because nothing else removes its pid.
///
/// Leaving is a release operation. The read that admits a holder is an acquire operation and reads the value
/// of the last release, or a value derived from it by read-modify-writes only, or by a process that had read
/// that value: the new holder comes after all accesses of earlier holders.
///
/// Threads of a process are not distinguished: any entry with the process's pid may stand for any of its
/// shares. A writer reads the entries one after the other, so each holder needs an entry that was there when
/// the writer announced itself. A reader that fails therefore removes its own new entry, which the writer may
/// have passed already; it removes another entry only if a leaving thread has removed the new one.
template <template <typename> class Atomic, std::size_t max_readers = 15>
class BasicStripeLock {
 public:
  enum class Writer : std::uint8_t {
    refused,    ///< there is another writer
    announced,  ///< new readers and other writers are excluded; has the lock when has_no_readers()
    alone       ///< has the lock
  };

  Writer announce_writer(pid_t self) noexcept {
    std::uint32_t present = 0;
    auto const pid = static_cast<std::uint32_t>(self);
    if (replace(writer_, present, pid)) return Writer::alone;
    return present == shared && replace(writer_, present, shared | pid) ? Writer::announced : Writer::refused;
  }
  /// Acquires the lock if no process has it or has had it shared since the last writer; otherwise does
  /// nothing. Returns whether the lock is acquired.
  bool try_lock_untouched(pid_t self) noexcept {
    std::uint32_t present = 0;
    return replace(writer_, present, static_cast<std::uint32_t>(self));
  }
  /// For the announced writer: whether all readers have left.
  bool has_no_readers() const noexcept {
    std::uint32_t present = 0;
    for (auto const& entry : readers_) present |= entry.load(std::memory_order_seq_cst);
    return present == 0;
  }
  /// Called by the writer that has the lock.
  void unlock() noexcept { writer_.store(0, std::memory_order_release); }
  /// Called by an announced writer that does not have the lock yet.
  void withdraw_writer() noexcept { writer_.store(shared, std::memory_order_release); }

  bool try_lock_shared(pid_t self) noexcept {
    auto const pid = static_cast<std::uint32_t>(self);
    std::uint32_t present = writer_.load(std::memory_order_relaxed);
    if (present == 0 && replace(writer_, present, shared)) present = shared;
    // A writer goes first, because a stream of readers would lock it out forever. Temporary entries would
    // have the same effect, so a reader does not create one if it sees a writer.
    if (present != shared) return false;
    std::size_t const entry = replace_entry(pid, 0, pid);
    if (entry == max_readers) return false;
    if (writer_.load(std::memory_order_seq_cst) == shared) return true;
    std::uint32_t own = pid;
    if (!replace(readers_[entry], own, 0)) unlock_shared(self);
    return false;
  }
  void unlock_shared(pid_t self) noexcept {
    auto const pid = static_cast<std::uint32_t>(self);
    // Another thread of the process may remove the entry that was seen and leave its own entry before the
    // position of the search, so search again.
    while (replace_entry(pid, pid, 0) == max_readers) {
    }
  }

 protected:
  static constexpr std::uint32_t shared = std::uint32_t{1} << 31;

  static bool replace(Atomic<std::uint32_t>& word, std::uint32_t& present, std::uint32_t next) noexcept {
    return word.compare_exchange_strong(present, next, std::memory_order_seq_cst, std::memory_order_relaxed);
  }
  /// Replaces an entry `present` by `next`; returns its index, or max_readers if none was found. Begins at an
  /// index that other processes than `pid` are unlikely to use.
  std::size_t replace_entry(std::uint32_t pid, std::uint32_t present, std::uint32_t next) noexcept {
    std::size_t index = pid % max_readers;
    for (std::size_t looked = 0; looked < max_readers; ++looked) {
      std::uint32_t seen = present;
      if (readers_[index].load(std::memory_order_relaxed) == present && replace(readers_[index], seen, next))
        return index;
      if (++index == max_readers) index = 0;
    }
    return max_readers;
  }

  Atomic<std::uint32_t> writer_{0};                           ///< `shared` and a pid; both may be missing
  std::array<Atomic<std::uint32_t>, max_readers> readers_{};  ///< one pid per share
};

class alignas(64) StripeLock final : public BasicStripeLock<std::atomic> {
 public:
  /// Must be called repeatedly while waiting for the lock: from time to time it removes holders that have
  /// ended.
  void check_holders() noexcept;

 private:
  bool drop_dead_holders() noexcept;
};
static_assert(sizeof(StripeLock) == 64);

}  // namespace mpixrma::engine
