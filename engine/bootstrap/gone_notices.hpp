/// Notification of the processes of a directory about ended processes: each process has a FIFO there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>

#include "engine/base/liveness.hpp"
#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

/// Does not use inotify: closing an inotify descriptor waits for all processors, and the kernel closes the
/// descriptor of a killed process before anyone can see that the process has ended. On a loaded machine that
/// took tens of seconds.
class GoneNotices {
 public:
  GoneNotices() = default;
  ~GoneNotices();
  GoneNotices(GoneNotices const&) = delete;
  GoneNotices& operator=(GoneNotices const&) = delete;

  /// `directory` must stay open as long as this object exists. Returns false with errno if the FIFO cannot be
  /// created.
  bool open(int directory);

  /// Notifies all processes that have a FIFO in the directory, except for this one.
  void notify(std::uint64_t process) const;

  /// Readable when there are notifications; -1 if not open.
  int fd() const noexcept { return fifo_.get(); }

  /// Returns the next process that was announced. False if there is none at present.
  bool next(std::uint64_t& process);

 private:
  void write_to(char const* name, std::uint64_t process) const;

  int directory_ = -1;
  std::string name_;
  FileDescriptor fifo_;
  pid_t pid_ = own_process_id();
  std::deque<std::uint64_t> received_;
};

}  // namespace mpixrma::engine
