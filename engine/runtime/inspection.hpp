/// The socket through which a process describes its state, even while its threads hang: mpix-rma ps connects
/// to it, and the agent replies. One abstract Unix socket per engine, whose name contains the pid; nothing is
/// left in a file system. Only processes of the same user, and root, get a reply.
#pragma once

#include <functional>
#include <string>

#include "engine/base/kept_from_children.hpp"
#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

class Inspection {
 public:
  /// Prefix of the names, followed by the pid, a slash, and the number of the engine in the process.
  static constexpr char const* prefix = "mpix-rma/";

  /// If the system permits no socket, there are no replies; nothing else changes.
  void open() noexcept;
  /// Readable when a client connects; -1 without a socket.
  int fd() const noexcept { return socket_.get(); }
  /// Sends the result of `describe` to all clients. Never waits for a client.
  void reply(std::function<std::string()> const& describe) const noexcept;

 private:
  FileDescriptor socket_;
  KeptFromChildren socket_kept_;
};

}  // namespace mpixrma::engine
