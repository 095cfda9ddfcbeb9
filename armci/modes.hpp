/// Access modes: what a program promises about the accesses to an allocation for a while.
#pragma once

#include <mpi.h>

#include <map>
#include <set>
#include <utility>

#include "mpix/xfer/transfer.hpp"

namespace armci {

/// The allocations that have another mode than ARMCIX_MODE_ALL. Nearly always none.
class AccessModes {
 public:
  /// Collective over the communicator of the allocation whose base here is `base`, nullptr where it is empty;
  /// `allocated`: whether one begins there. Throws a Failure, at every process.
  void set(int mode, void* base, bool allocated, MPI_Comm comm);
  /// Mode of the memory at `address` of `process`.
  int get(int process, mpixrma::RemoteAddress address) const;
  /// The allocation is being freed; collective over its communicator.
  void forget(void* base, MPI_Comm comm);

  bool all_default() const noexcept { return ranges_.empty(); }

 private:
  using Start = std::pair<int, mpixrma::RemoteAddress>;  ///< process and first address
  struct Range {
    mpixrma::RemoteAddress end;
    int mode;
  };

  std::map<Start, Range> ranges_;
  std::set<MPI_Comm> comms_;  ///< of the allocations that ever had a mode
};

extern AccessModes modes;

}  // namespace armci
