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

/// Returns bad_address if the target's memory is not mapped, not_writable if it can only be read, bad_origin
/// if the origin of a put cannot be read, or that of a get written; unsupported if the system refuses. Bytes
/// transferred before a failure remain. Must not be called for an update that needs CPU atomics. The caller
/// holds the stripes that the operation's flags require. `*done`, if not null, is initially 0, and receives
/// the number of bytes that are transferred or updated, also if the rest fails.
Status execute_across(RmaOp const& operation, pid_t pid, std::size_t bytes_per_call = cross_memory_call_bytes,
                      std::size_t* done = nullptr);

}  // namespace mpixrma::engine
