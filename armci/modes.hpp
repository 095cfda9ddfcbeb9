/// Access modes: a program's temporary promise about the accesses to an allocation.
#pragma once

#include <mpi.h>

#include <map>
#include <set>
#include <utility>

#include "mpix/xfer/transfer.hpp"

namespace armci {

/// The allocations with a mode other than ARMCIX_MODE_ALL; almost always empty.
class AccessModes {
 public:
  /// Collective over the communicator of the allocation whose local base is `base` (nullptr if empty);
  /// `allocated` tells whether an allocation begins there. On failure every process throws a Failure.
  void set(int mode, void* base, bool allocated, MPI_Comm comm);
  /// Returns the mode of the memory at `address` of `process`.
  int get(int process, mpixrma::RemoteAddress address) const;
  /// Removes an allocation that is being freed; collective over its communicator.
  void forget(void* base, MPI_Comm comm);

  bool all_default() const noexcept { return ranges_.empty(); }

 private:
  using Start = std::pair<int, mpixrma::RemoteAddress>;  ///< process and first address
  struct Range {
    mpixrma::RemoteAddress end;
    int mode;
  };

  std::map<Start, Range> ranges_;
  std::set<MPI_Comm> comms_;  ///< communicators of the allocations that ever had a mode
};

extern AccessModes modes;

}  // namespace armci
