/// Detects the end of processes on this host by pidfds, because shared-memory connections do not report it.
/// Not thread-safe, except for fd() and must_poll().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "engine/base/take_each.hpp"

namespace mpixrma::engine {

class ProcessWatch {
 public:
  ProcessWatch();

  /// Becomes readable when a process has ended that need not be polled: see must_poll(). -1: there is no
  /// descriptor, and all processes must be polled.
  int fd() const noexcept { return epoll_.get(); }

  /// Watches the process with identity `process`, which runs as `pid`, in place of an earlier one with this
  /// identity. Returns false if it is watched already or is this process.
  bool add(std::uint64_t process, pid_t pid);
  void remove(std::uint64_t process);

  /// Whether some processes must be polled, because they have no descriptor or had ended before they were
  /// added, or could not be handled.
  bool must_poll() const noexcept { return must_poll_.load(std::memory_order_relaxed); }

  /// Calls `handle` with the identity of each process that has ended, once; see take_each().
  template <typename Handle>
  void take_ended(Handle handle) {
    struct Note {
      ProcessWatch& watch;
      ~Note() { watch.note_must_poll(); }
    } const at_end{*this};
    find_ended();
    take_each(ended_, handle);
  }

 private:
  struct Watched {
    pid_t pid = 0;
    FileDescriptor descriptor;  ///< pidfd
    bool polled = false;        ///< without a pidfd
  };

  void note_must_poll() noexcept {
    must_poll_.store(polled_ != 0 || !ended_.empty(), std::memory_order_relaxed);
  }
  bool announce(std::uint64_t process, Watched& watched);
  void find_ended();

  FileDescriptor epoll_;
  std::unordered_map<std::uint64_t, Watched> watched_;
  std::vector<std::uint64_t> ended_;  ///< not watched any more, and not taken yet
  std::size_t polled_ = 0;
  std::atomic<bool> must_poll_{false};
};

}  // namespace mpixrma::engine
