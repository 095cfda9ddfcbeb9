/// A thread that is told when the other end of a connection has closed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <thread>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::windows {

class ConnectionWatch {
 public:
  /// `on_end` is called in the thread. It returns the socket that is to be watched from then on; -1: none.
  ConnectionWatch(int socket, std::function<int()> on_end);
  /// Waits for an `on_end` that has begun.
  ~ConnectionWatch();
  ConnectionWatch(ConnectionWatch const&) = delete;
  ConnectionWatch& operator=(ConnectionWatch const&) = delete;

  /// For `on_end`. False: it was cut short, because the watch is to end.
  bool sleep(int milliseconds) const;

 private:
  void run(int socket) const;

  std::function<int()> on_end_;
  engine::FileDescriptor stop_;
  pid_t owner_;  ///< children made by fork() have no such thread
  std::thread thread_;
};

}  // namespace mpixrma::windows
