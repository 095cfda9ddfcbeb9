/// The window memory of this process, and the lock for accesses to this memory.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/op/exposure.hpp"
#include "engine/sync/lock.hpp"
#include "mpi-windows/state/memory_aliases.hpp"

namespace mpixrma::windows {

struct OwnMemory {
  int flavor = 0;             ///< as in MPI_WIN_CREATE_FLAVOR
  void* allocated = nullptr;  ///< window memory that this process has allocated
  std::byte* base = nullptr;
  engine::ExposureId exposure{};
  MemoryAliases aliases;                 ///< memory of other processes, see MemoryAliases
  void* published_rank_table = nullptr;  ///< rank table of the host if this process stores it
  /// Whether the program may access memory of other processes by load and store.
  std::atomic<bool> is_shared{false};
};

/// The lock of this process's memory, and the identity under which the process takes the locks of others.
struct OwnLock {
  engine::LockId id = 0;
  bool exists = false;
  engine::Holder const holder;
};

}  // namespace mpixrma::windows
