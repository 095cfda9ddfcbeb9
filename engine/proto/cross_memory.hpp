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

/// Returns bad_address if the target's memory is not mapped, not_writable if it is read-only, bad_origin if
/// the origin of a put or get is not mapped (data transferred before stays), and unsupported if the system
/// denies access. The caller holds the stripes that the guarantees require. `done`, if not null, receives the
/// number of bytes transferred or updated, even if the rest fails.
Status execute_across(Transfer const& transfer, pid_t pid,
                      std::size_t bytes_per_call = cross_memory_call_bytes, std::size_t* done = nullptr);
/// For an update that needs no CPU atomics.
Status execute_across(Update const& update, pid_t pid, std::size_t bytes_per_call = cross_memory_call_bytes,
                      std::size_t* done = nullptr);

}  // namespace mpixrma::engine
