/// The socket at which a process says what it waits for, also while its threads hang: mpix-rma ps connects to
/// it, and the agent answers. One abstract Unix socket for each engine, whose name has the process's id;
/// nothing of it is left in a file system. Only processes of the same user, and root, get an answer.
#pragma once

#include <functional>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

class Inspection {
 public:
  /// Prefix of the names; behind it stand the process's id, a slash, and the number of the engine in
  /// it.
  static constexpr char const* prefix = "mpix-rma/";

  /// Without a socket, as where the system permits none, nobody is answered, and nothing else changes.
  void open() noexcept;
  /// Readable when somebody asks; -1 without a socket.
  int fd() const noexcept { return socket_.get(); }
  /// Answers all who ask with what `describe` returns. Never waits.
  void answer(std::function<std::string()> const& describe) const noexcept;

 private:
  FileDescriptor socket_;
};

}  // namespace mpixrma::engine
