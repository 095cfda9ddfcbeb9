/// Memory of a process on the same host that is not mapped here, by process_vm_readv and
/// process_vm_writev. Complete when the call returns.
#pragma once

#include <sys/types.h>

#include "engine/operation.hpp"

namespace mpix::engine {

/// Whether the system lets this process use the calls on `pid`.
bool cross_memory_permitted(pid_t pid) noexcept;

/// bad_address when the target's memory is not there (what was transferred before stays);
/// unsupported when the system refuses. The caller holds the stripes that the guarantees ask for.
Status cross_memory_transfer(Transfer const& transfer, pid_t pid);

}  // namespace mpix::engine
