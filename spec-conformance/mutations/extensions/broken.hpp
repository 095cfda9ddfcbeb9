/// A library that is loaded before MPIX_RMA and breaks the promise of one clause about the extensions of
/// windows: the one that the environment variable MPIX_BROKEN_CLAUSE names. It intercepts calls by the
/// profiling interface.
#pragma once

#include <mpi.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "include/mpix_rma.h"
#include "include/mpix_rma/profiling.h"
#include "spec-conformance/mutations/calls_on_windows.hpp"
#include "spec-conformance/mutations/clause.hpp"

namespace mpixrma::broken {

/// A put, get or notified put with its arguments. A notified put has no data if `count` is 0.
struct Transfer {
  enum class Kind { put, get, notified_put };
  Kind kind;
  void* origin;
  int count;
  MPI_Datatype type;
  int rank;
  MPI_Aint displacement;
  MPI_Win window;
  int counter = 0;

  int issue() const;
};

/// Transfers that are withheld from the library.
class WithheldTransfers {
 public:
  int keep(Transfer const& transfer);
  /// Keeps the transfer with a copy of its origin.
  int keep_copy(Transfer const& transfer);
  /// Issues all transfers. Their copies stay: a transfer that waits for a lock reads its copy later.
  void issue();
  /// Issues all transfers, ordered before later operations on the window.
  void issue_in_order(MPI_Win window);
  bool is_empty();

 private:
  struct Kept {
    Transfer transfer;
    std::vector<char> copy;
  };
  std::mutex lock_;
  std::vector<Kept> kept_;
  std::vector<Kept> issued_;
};
/// Transfers that are withheld until a later call, and those that are withheld until the end of the epoch.
WithheldTransfers& withheld();
WithheldTransfers& until_end();

/// A set of windows.
class Marked {
 public:
  void set(MPI_Win window, bool has) {
    std::lock_guard const held(lock_);
    has ? void(windows_.insert(window)) : void(windows_.erase(window));
  }
  bool has(MPI_Win window) {
    std::lock_guard const held(lock_);
    return windows_.count(window) != 0;
  }
  std::vector<MPI_Win> all() {
    std::lock_guard const held(lock_);
    return {windows_.begin(), windows_.end()};
  }

 private:
  std::mutex lock_;
  std::set<MPI_Win> windows_;
};
extern Marked all_locked;      ///< between MPI_Win_lock_all and MPI_Win_unlock_all
extern Marked fenced;          ///< MPI_Win_fence was called, and no unlock since
extern Marked with_counters;   ///< the last MPIX_Win_set_num_notify gave this process counters
extern Marked with_request;    ///< MPIX_Rput_notify was called
extern Marked of_other_order;  ///< its processes are not those of MPI_COMM_WORLD in their order

/// Requests for thresholds that this thread has made since its last MPI_Wait.
extern thread_local int thresholds_awaited;

int no_such_counter();
/// The contiguous transfers of the tests of order have more elements.
constexpr int many = 1000;

}  // namespace mpixrma::broken
