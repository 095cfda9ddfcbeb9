/// Announces ended processes to all processes of a bootstrap directory, by a FIFO each.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/liveness.hpp"
#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

/// Does not use inotify: closing an inotify descriptor waits for a grace period of the kernel, and the kernel
/// closes the descriptor of a killed process before anyone can see that the process has ended. On a loaded
/// machine that took tens of seconds.
class ExitNotices {
 public:
  ExitNotices() = default;
  ~ExitNotices();
  ExitNotices(ExitNotices const&) = delete;
  ExitNotices& operator=(ExitNotices const&) = delete;

  /// `directory` must stay open as long as this object exists. Returns false with errno if the FIFO cannot be
  /// created.
  bool open(int directory);

  /// Notifies all processes that have a FIFO in the directory, except for this one.
  void notify(std::uint64_t process) const;

  /// Readable when there are notifications; -1 if not open.
  int fd() const noexcept { return fifo_.get(); }

  /// Takes the next announced process. Returns false if no notice is pending.
  bool next(std::uint64_t& process);

 private:
  void write_to(char const* name, std::uint64_t process) const;

  int directory_ = -1;
  std::string name_;
  FileDescriptor fifo_;
  pid_t pid_ = own_process_id();
  std::array<std::uint64_t, 512> received_{};
  std::size_t taken_ = 0;  ///< of the notices in `received_`
  std::size_t count_ = 0;  ///< number of notices in `received_`
};

}  // namespace mpixrma::engine
