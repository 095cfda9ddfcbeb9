/// A library that is loaded before Open MPI and breaks the promise of one clause about windows: the one that
/// the environment variable MPIX_BROKEN_CLAUSE names. It intercepts calls by the profiling interface.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "spec-conformance/mutations/calls_on_windows.hpp"
#include "spec-conformance/mutations/clause.hpp"

namespace mpixrma::broken {

/// A put or get with its arguments.
struct Transfer {
  enum class Kind { put, get };
  Kind kind;
  void* origin;
  int origin_count;
  MPI_Datatype origin_type;
  int rank;
  MPI_Aint displacement;
  int target_count;
  MPI_Datatype target_type;
  MPI_Win window;

  int issue() const;
};

bool is_derived(MPI_Datatype type);

/// Transfers that are withheld from the library.
class WithheldTransfers {
 public:
  /// Withholds the transfer, which reads its origin now (keep_copy) or when it is issued (keep).
  int keep_copy(Transfer const& transfer);
  int keep(Transfer const& transfer);
  /// Issues all transfers.
  void issue();
  /// Forgets the transfers whose target has this datatype.
  void forget(MPI_Datatype type);

 private:
  struct Kept {
    Transfer transfer;
    std::vector<char> copy;
  };
  std::vector<Kept> kept_;
};
WithheldTransfers& withheld();

/// A set of objects with a property that a broken promise depends on.
template <typename T>
class Marked {
 public:
  void add(T const& object) {
    std::lock_guard const held(lock_);
    objects_.insert(object);
  }
  void remove(T const& object) {
    std::lock_guard const held(lock_);
    objects_.erase(object);
  }
  bool has(T const& object) {
    std::lock_guard const held(lock_);
    return objects_.count(object) != 0;
  }
  std::size_t count() {
    std::lock_guard const held(lock_);
    return objects_.size();
  }

 private:
  std::mutex lock_;
  std::set<T> objects_;
};

/// Windows by their properties.
struct Windows {
  Marked<MPI_Win> of_other_groups;   ///< its processes are not those of MPI_COMM_WORLD in their order
  Marked<MPI_Win> without_memory;    ///< this process has brought no memory
  Marked<MPI_Win> on_allocated;      ///< on memory of MPI_Alloc_mem
  Marked<MPI_Win> without_order;     ///< accumulate_ordering was "none" when they were created
  Marked<MPI_Win> with_gaps;         ///< alloc_shared_noncontig
  Marked<MPI_Win> allocated;         ///< of MPI_Win_allocate
  Marked<MPI_Win> fenced;            ///< MPI_Win_fence was called
  Marked<MPI_Win> without_puts;      ///< the last fence had MPI_MODE_NOPUT
  Marked<MPI_Win> posted_no_store;   ///< the last post had MPI_MODE_NOSTORE
  Marked<MPI_Win> started;           ///< between MPI_Win_start and MPI_Win_complete
  Marked<MPI_Win> all_locked;        ///< between MPI_Win_lock_all and MPI_Win_unlock_all
  Marked<MPI_Win> locked_unchecked;  ///< the last MPI_Win_lock had MPI_MODE_NOCHECK
  Marked<MPI_Win> locked_before;     ///< was locked before with MPI_LOCK_EXCLUSIVE
  Marked<MPI_Win> failed;            ///< a put to a rank that does not exist was refused
};
Windows& windows();

}  // namespace mpixrma::broken
