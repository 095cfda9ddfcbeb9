/// A thread that calls back when the other end of a connection has closed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <thread>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::windows {

class ConnectionWatch {
 public:
  /// The thread calls `on_end`, which returns the socket to watch from then on, or -1 for none.
  ConnectionWatch(int socket, std::function<int()> on_end);
  /// Waits for a running `on_end`.
  ~ConnectionWatch();
  ConnectionWatch(ConnectionWatch const&) = delete;
  ConnectionWatch& operator=(ConnectionWatch const&) = delete;

  /// Called by `on_end` between attempts to reconnect. Returns false if the sleep was interrupted because the
  /// watch ends.
  bool sleep(int milliseconds) const;

 private:
  void run(int socket) const;

  std::function<int()> on_end_;
  engine::FileDescriptor stop_;
  pid_t owner_;  ///< the process that has the thread: a child made by fork() lacks it
  std::thread thread_;
};

}  // namespace mpixrma::windows
