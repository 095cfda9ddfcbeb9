/// The window memory that this process has, and the lock of it.
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
  MemoryAliases aliases;       ///< memory of others whose address was returned to the program
  void* kept_table = nullptr;  ///< table of the host if this process stores it
  /// Whether this process may access memory of others by load and store.
  std::atomic<bool> is_shared{false};
};

/// The lock of this process's memory, and the identity under which the process takes the locks of others.
struct OwnLock {
  engine::LockId id = 0;
  bool exists = false;
  engine::Holder const holder;
};

}  // namespace mpixrma::windows
