/// A library that is loaded before MPIX_RMA and breaks the promise of one clause: the one that the
/// environment variable MPIX_BROKEN_CLAUSE names. It intercepts calls by the profiling interface.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "include/mpix_rma.h"
#include "include/mpix_rma/profiling.h"
#include "spec-conformance/mutations/clause.hpp"

namespace mpixrma::broken {

/// A transfer with its arguments, whichever of the calls issues it.
struct Transfer {
  MPIX_RMA_Op op;
  void* origin;
  MPI_Count origin_count;
  MPI_Datatype origin_type;
  int rank;
  void* target;
  MPI_Count target_count;
  MPI_Datatype target_type;
  MPI_Request* request;
  MPI_Comm comm;
  MPIX_RMA_Attributes attributes;

  bool has(std::uint64_t bits) const noexcept { return (attributes.set & bits) == bits; }
  void drop(std::uint64_t bits) noexcept { attributes.set &= ~bits; }
  bool is_put() const noexcept { return op == MPIX_RMA_PUT; }
  bool is_get() const noexcept { return op == MPIX_RMA_GET; }
  bool is_accumulate() const noexcept { return op == MPIX_RMA_ACCUMULATE; }
  bool is_of(MPI_Datatype type) const noexcept { return origin_type == type; }
  bool is_on_world() const noexcept { return comm == MPI_COMM_WORLD; }

  int issue() const;
};

/// A read-modify-write with one operand, or with two.
struct Rmw {
  int op;
  void const* operand;
  int count;
  MPI_Datatype type;
  void const* operand2;  ///< null: none
  void* result;
  int rank;
  MPI_Aint target;
  MPI_Request* request;
  MPI_Comm comm;
  MPIX_RMA_Attributes attributes;

  int issue() const;
};

/// Transfers that are withheld from the library, and issued too late: after the next transfer.
class WithheldTransfers {
 public:
  /// Withholds the transfer with a copy of its origin. The transfer's request is complete.
  int keep_copy(Transfer const& transfer);
  /// Withholds the transfer, which reads its origin when it is issued.
  int keep(Transfer const& transfer);
  /// Forgets the transfer. Its request is complete.
  static int leave_out(Transfer const& transfer);
  /// Forgets the transfers on other communicators.
  void forget_others(MPI_Comm comm);
  /// Issues all transfers, or those to `rank`.
  int issue(int rank = MPIX_ALL_RANKS);

 private:
  struct Kept {
    Transfer transfer;
    std::vector<char> copy;
  };
  std::vector<Kept> kept_;
};
WithheldTransfers& withheld();

/// Number of transfers of ints since the last Complete, while X4_02 is broken.
extern int outstanding;

/// Breaks the clause if the transfer concerns it. Returns false if the caller has to issue the transfer,
/// whose arguments may have changed.
bool transfer_broken(Transfer& transfer, int* code);
bool update_broken(Rmw& rmw, int* code);
/// The size of `count` elements in bytes.
std::size_t bytes_of(MPI_Count count, MPI_Datatype type);

}  // namespace mpixrma::broken
