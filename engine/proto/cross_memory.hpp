/// Access to memory of a process on the same host that is not mapped here, by process_vm_readv and
/// process_vm_writev. Complete when the call returns.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// Whether the system lets this process use the calls on `pid`.
bool cross_memory_permitted(pid_t pid) noexcept;

/// Whether the memory consists of so many small pieces, for each of which the kernel looks up the target's
/// pages, that a message is faster.
bool is_scattered(Layout const& layout) noexcept;

/// Maximum size of one system call; the kernel stops at 2 GiB less a page.
inline constexpr std::size_t cross_memory_call_bytes = std::size_t{1} << 30;

/// bad_address when the target's memory is not mapped, not_writable when it can only be read, bad_origin when
/// a put's or a get's origin is not there (what was transferred before stays); unsupported when the system
/// refuses. Must not be called for an update
/// that needs CPU atomics. The caller holds the stripes that the operation's flags require. `done`,
/// if not null: bytes of the data that are transferred or updated, also where the rest fails.
Status execute_across(RmaOp const& operation, pid_t pid, std::size_t bytes_per_call = cross_memory_call_bytes,
                      std::size_t* done = nullptr);

}  // namespace mpixrma::engine
