/// Tells when processes of this host end, without asking: their connections over shared memory do not.
/// Under the channel's lock, but for fd().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

class ProcessWatch {
 public:
  ProcessWatch();

  /// Becomes readable when a process has ended; -1 where the system has no such thing.
  int fd() const noexcept { return epoll_.get(); }

  /// Watches the process with identity `process`, which runs as `pid`. False: it is watched already, or this
  /// process itself.
  bool add(std::uint64_t process, pid_t pid);
  void remove(std::uint64_t process);

  /// Some processes can only be looked at now and then: no descriptor was to be had for them.
  bool needs_looks() const noexcept { return looked_at_ != 0; }

  /// The identities of those that have ended; each is told once.
  std::vector<std::uint64_t> take_ended();

 private:
  struct Watched {
    pid_t pid = 0;
    FileDescriptor descriptor;  ///< pidfd
    bool looked_at = false;     ///< instead
  };

  bool announce(std::uint64_t process, Watched& watched);

  FileDescriptor epoll_;
  std::unordered_map<std::uint64_t, Watched> watched_;
  std::vector<std::uint64_t> ended_;  ///< when they were added
  std::size_t looked_at_ = 0;
};

}  // namespace mpixrma::engine
