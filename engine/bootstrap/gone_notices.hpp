/// How the processes of a directory tell each other that they go: each has a FIFO there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>

#include "engine/base/liveness.hpp"
#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

/// Not inotify, which would tell the same: closing one of its descriptors waits for all processors, and a
/// process that was killed has one closed for it before anybody sees that it has ended. On a loaded machine
/// that took tens of seconds.
class GoneNotices {
 public:
  GoneNotices() = default;
  ~GoneNotices();
  GoneNotices(GoneNotices const&) = delete;
  GoneNotices& operator=(GoneNotices const&) = delete;

  /// `directory`: open for as long as this exists. False with errno: there can be no FIFO.
  bool open(int directory);

  /// Tells all who have a FIFO in the directory but this one.
  void tell(std::uint64_t process) const;

  /// Readable when somebody has told; -1 where it is not open.
  int fd() const noexcept { return fifo_.get(); }

  /// The next one of whom was told. False: no more for now.
  bool next(std::uint64_t& process);

 private:
  void write_to(char const* name, std::uint64_t process) const;

  int directory_ = -1;
  std::string name_;
  FileDescriptor fifo_;
  pid_t pid_ = own_process_id();
  std::deque<std::uint64_t> told_;
};

}  // namespace mpixrma::engine
