/// Access modes: a program's temporary promise about the accesses to an allocation.
#pragma once

#include <mpi.h>

#include <atomic>
#include <map>
#include <set>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "mpix/xfer/transfer.hpp"

namespace armci {

/// The allocations with a mode other than ARMCIX_MODE_ALL; almost always empty.
class AccessModes {
 public:
  /// Collective over the communicator of the allocation whose local base is `base` (nullptr if empty);
  /// `allocated` tells whether an allocation of this group begins there. Every process throws a Failure if
  /// the arguments of one are wrong. A process whose earlier operation has failed throws as well, after the
  /// mode is set.
  void set(int mode, void* base, bool allocated, MPI_Comm comm);
  /// Returns the mode of the memory at [begin, end) of `process`; ARMCIX_MODE_ALL unless one allocation has
  /// all of it.
  int get(int process, mpixrma::RemoteAddress begin, mpixrma::RemoteAddress end) const;
  /// Removes an allocation that is being freed; collective over the communicator of its group, or of another
  /// group of the same processes.
  void forget(void* base, MPI_Comm comm);

  /// Removes all allocations.
  void clear();

  bool all_default() const noexcept { return !any_.load(std::memory_order_acquire); }

 private:
  using Start = std::pair<int, mpixrma::RemoteAddress>;  ///< process and first address
  struct Range {
    mpixrma::RemoteAddress end;
    int mode;
  };

  /// Whether an allocation of these processes ever had a mode, as far as this process knows.
  bool had_mode(MPI_Comm comm) const;

  mutable std::shared_mutex lock_;
  std::atomic<bool> any_{false};  ///< whether `ranges_` has an element
  std::map<Start, Range> ranges_;
  /// The processes of each allocation that ever had a mode, as members_of() returns them.
  std::set<std::vector<int>> groups_;
};

extern AccessModes modes;

}  // namespace armci
