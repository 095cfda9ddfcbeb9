/// One call of a transfer, in whatever form it came.
#pragma once

#include <cstdint>

#include "include/mpix_rma.h"
#include "mpix/attributes/attributes.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/datatype/datatype.hpp"
#include "mpix/request/slot.hpp"

namespace mpix {

/// The arguments, as given.
struct XferCall {
  MPIX_RMA_Op operation;
  void* origin;
  int origin_count;
  MPI_Datatype origin_type;
  int rank;
  void* target;
  int target_count;
  MPI_Datatype target_type;
  MPIX_RMA_Attributes const* attributes;
};

/// Attributes that a transfer by load and store satisfies by itself, up to the final store fence; without
/// those that are to be verified. Set when the library is set up.
extern std::uint64_t free_when_direct;

/// Joins the attributes of the call, the request object and the communicator. MPI error class.
int join_attributes(MPIX_RMA_Attributes const* call, RequestSlot& request, Communicator& communicator,
                    MPIX_RMA_Attributes* joined);

/// Counter that the operation increments at `rank`, 0 for none. MPI error class.
int find_counter(MPIX_RMA_Attributes const& attributes, Communicator& communicator, int rank,
                 engine::RemoteAddress* counter);

/// Verifies what the call vouches for, when that is asked for: `origin` and `target` are the lowest
/// addresses, with lengths in bytes. Returns an MPI error code, after one line on stderr.
int verify_communicatable(std::uint64_t set, Target& target, void const* origin, std::size_t origin_bytes,
                          engine::RemoteAddress target_begin, std::size_t target_bytes);

/// Everything that the fast ways leave over: checks, joins, issues. Returns an MPI error code, through the
/// handler.
int xfer_generally(XferCall const& call, RequestSlot request, Communicator& communicator);

/// What a transfer of contiguous elements by load and store still has to do for its attributes.
inline void finish_direct(std::uint64_t set) noexcept {
  if ((set & MPIX_RMA_ATTR_REMOTE_COMPLETION) != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace mpix
