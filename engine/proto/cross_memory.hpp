/// Memory of a process on the same host that is not mapped here, by process_vm_readv and
/// process_vm_writev. Complete when the call returns.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// Whether the system lets this process use the calls on `pid`.
bool cross_memory_permitted(pid_t pid) noexcept;

/// Whether the memory is in so many small pieces, each of which costs the kernel a look at the target's
/// pages, that they are moved faster by a message.
bool is_scattered(Layout const& layout) noexcept;

/// What one system call is asked for at most: the kernel stops at 2 GiB less a page.
inline constexpr std::size_t cross_memory_call_bytes = std::size_t{1} << 30;

/// bad_address when the target's memory is not mapped, not_writable when it can only be read, bad_origin when
/// a put's or a get's origin is not there (what was transferred before stays); unsupported when the system
/// refuses. The caller holds the stripes that the guarantees ask for. `done`, if not null: bytes of the data
/// that are transferred or updated, also where the rest fails.
Status execute_across(Transfer const& transfer, pid_t pid,
                      std::size_t bytes_per_call = cross_memory_call_bytes, std::size_t* done = nullptr);
/// An update that needs no CPU atomics.
Status execute_across(Update const& update, pid_t pid, std::size_t bytes_per_call = cross_memory_call_bytes,
                      std::size_t* done = nullptr);

}  // namespace mpixrma::engine
