/// Detects the end of processes on this host by pidfds, because shared-memory connections do not report it.
/// Not thread-safe, except for fd() and must_poll().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/shared_memory.hpp"

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
  /// added.
  bool must_poll() const noexcept { return must_poll_.load(std::memory_order_relaxed); }

  /// Returns the identities of the processes that have ended; each is returned once.
  std::vector<std::uint64_t> take_ended();

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

  FileDescriptor epoll_;
  std::unordered_map<std::uint64_t, Watched> watched_;
  std::vector<std::uint64_t> ended_;  ///< ended before they were added
  std::size_t polled_ = 0;
  std::atomic<bool> must_poll_{false};
};

}  // namespace mpixrma::engine
