/// Checks whether other processes of this PID namespace are alive.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace mpixrma::engine {

/// As getpid(), without a system call; also correct in a forked child.
pid_t own_process_id() noexcept;
/// As own_process_id(), for the engine itself: one load.
[[gnu::visibility("hidden")]] extern pid_t own_process;

/// Returns false only if no thread of `pid` will ever run again: the process does not exist, or it has ended
/// and its parent has not reaped it. A stopped process is alive. Returns true in doubt, for example if /proc
/// cannot be read. Takes some system calls.
bool process_is_alive(pid_t pid) noexcept;

/// Returns the start time of `pid` in clock ticks since the host's boot, which distinguishes successive
/// processes with the same pid. Returns 0 if the process does not exist or /proc cannot be read; a process
/// that has ended keeps its start time until its parent has reaped it.
std::uint64_t start_time_of(pid_t pid) noexcept;

}  // namespace mpixrma::engine
