/// Protection of a server against unsolicited descriptors from clients. Dropping the last reference to such a
/// descriptor may block on its sender: a TCP socket with SO_LINGER and unsent data blocks for a time that the
/// sender has chosen, in recvmsg() as well as in close().
#pragma once

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Makes the kernel refuse descriptors at the sender, for connections to `listener` made from now on. No
/// effect before Linux 6.16. Called by servers.
void refuse_descriptors(engine::FileDescriptor const& listener) noexcept;

/// Whether messages that arrive at `socket` may carry descriptors.
bool may_carry_descriptors(engine::FileDescriptor const& socket) noexcept;

/// Enables InterruptedWait in the calling thread, which is the only one of this process that may use it from
/// then on. Installs a handler of SIGURG, a signal without effect elsewhere. Called by the event loops of
/// servers, never by clients. Returns false if the system has no timer left.
bool enable_interrupted_waits() noexcept;

/// During its lifetime, waits of this thread in the kernel end after a millisecond, unless only a fatal
/// signal ends them. No effect without enable_interrupted_waits(). Needed around calls that may drop the last
/// reference to a descriptor of a client. Objects may be nested.
class InterruptedWait {
 public:
  explicit InterruptedWait(bool is_needed = true) noexcept;
  ~InterruptedWait();
  InterruptedWait(InterruptedWait const&) = delete;
  InterruptedWait& operator=(InterruptedWait const&) = delete;

 private:
  bool is_active_;
};

}  // namespace mpixrma::nam
