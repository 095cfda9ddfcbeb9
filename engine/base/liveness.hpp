/// Whether other processes of this pid namespace are still there.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace mpixrma::engine {

/// As getpid(), without a system call; also right in a forked child.
pid_t own_process_id() noexcept;
/// The same for the engine itself: one load.
[[gnu::visibility("hidden")]] extern pid_t own_process;

/// False only when no thread of `pid` will ever run again: there is no such process, or it has ended and its
/// parent has not asked for its exit status. A stopped process is alive. In doubt, as where /proc cannot be
/// read: true. Some system calls.
bool process_is_alive(pid_t pid) noexcept;

/// When `pid` was started, in clock ticks since the host was: with it a number tells processes apart that had
/// the same pid one after the other. 0 when there is no such process; one that has ended keeps its own until
/// its parent has asked for the exit status.
std::uint64_t start_time_of(pid_t pid) noexcept;

}  // namespace mpixrma::engine
