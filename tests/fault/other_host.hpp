/// Processes that the engine regards as processes of different hosts: each in an IPC namespace of its own.
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpixrma::test {

inline bool enter_other_host() { return ::unshare(CLONE_NEWIPC) == 0; }

/// Whether processes may do that. Asks in a child, because this process stays where it is.
inline bool may_enter_other_host() {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(enter_other_host() ? 0 : 1);
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace mpixrma::test
