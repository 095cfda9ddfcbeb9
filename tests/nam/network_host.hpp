/// Another host: a network namespace.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Moves the calling process into a network namespace and a mount namespace of its own. Returns false where
/// the system does not permit it.
bool become_host();

/// Runs a command of the shell, and returns whether it succeeds.
bool run_command(std::string const& command);

class NetworkHost {
 public:
  /// Returns nullptr where the system does not permit it.
  static std::unique_ptr<NetworkHost> make();
  ~NetworkHost();
  NetworkHost(NetworkHost const&) = delete;
  NetworkHost& operator=(NetworkHost const&) = delete;

  /// A process in the namespace.
  pid_t keeper() const noexcept { return keeper_; }
  /// Moves the calling thread to this host.
  bool enter() const;
  /// Moves the calling process to this host, with a mount namespace of its own, whose /sys shows the host's
  /// devices.
  bool enter_as_process() const;
  /// Runs a command on this host, and returns whether it succeeds.
  bool run(std::string const& command) const;

 private:
  explicit NetworkHost(pid_t keeper) noexcept : keeper_(keeper) {}

  pid_t keeper_;
  engine::FileDescriptor namespace_;
};

}  // namespace mpixrma::nam
