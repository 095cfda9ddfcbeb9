/// One call of a transfer, in any of the forms of the interface.
#pragma once

#include <cstdint>

#include "datatype/datatype.hpp"
#include "include/mpix_rma.h"
#include "mpix/attrs/attributes.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/request/slot.hpp"

namespace mpixrma {

/// The arguments as given, and the name of the call.
struct XferCall {
  char const* name;
  MPIX_RMA_Op operation;
  void* origin;
  MPI_Count origin_count;
  MPI_Datatype origin_type;
  int rank;
  void* target;
  MPI_Count target_count;
  MPI_Datatype target_type;
  MPIX_RMA_Attributes const* attributes;
};

/// The attributes that exclude every fast path: loads and stores within the call, then finish_direct(), do
/// not satisfy them, or the attributes have to be verified. (check_fast_path() excepts ATOMICITY.) All bits
/// until the library is set up. Hidden, and the excluding bits, so that a fast path tests them in memory with
/// one instruction.
__attribute__((visibility("hidden"))) extern std::uint64_t slow_path_attributes;

/// Joins the attributes of the call, the request object and the communicator. Invokes the error handler on
/// failure and returns an MPI error code, as do the functions below.
int join_attributes(Site const& site, MPIX_RMA_Attributes const* call, RequestSlot& request,
                    Communicator& communicator, MPIX_RMA_Attributes* joined);

/// Sets `*counter` to the address of the counter that the operation increments at `rank`, if any.
int find_counter(Site const& site, MPIX_RMA_Attributes const& attributes, Communicator& communicator,
                 int rank, engine::RemoteAddress* counter);

/// Memory of an operation on one side: the lowest address and the length.
template <typename Address>
struct MemoryRange {
  Address begin;
  std::size_t bytes;
};

/// Verifies the attributes in `set` that declare memory communicatable. The caller has checked that
/// verification is enabled.
int verify_communicatable(Site const& site, std::uint64_t set, Target& target,
                          MemoryRange<void const*> origin, MemoryRange<engine::RemoteAddress> there);

/// Raises the error of a count argument that is negative, or too large for its (valid) datatype.
int check_count(Site const& site, char const* argument, MPI_Count count, MPI_Datatype datatype);
/// Raises the error of a datatype argument that cannot be used.
int raise_datatype(Site const& site, char const* argument, MPI_Datatype datatype);
/// Raises the error of an operation whose origin memory is not accessible.
__attribute__((cold)) int raise_origin(Site const& site, engine::RmaOp const& operation);
/// Raises the error of unknown attributes of a call.
int raise_attributes(Site const& site, MPIX_RMA_Attributes const* attributes);

/// A datatype's name, for the text of an error.
struct TypeName {
  explicit TypeName(MPI_Datatype datatype);
  char text[MPI_MAX_OBJECT_NAME] = "";
};

/// Checks the arguments that all transfers of a plan share: operation, datatypes, attributes.
int check_fixed_arguments(Site const& site, XferCall const& call);

/// Carries out a transfer that no fast path has served: checks arguments, joins attributes and issues the
/// operation.
int xfer_general_path(XferCall const& call, RequestSlot request, Communicator& communicator);

/// Satisfies the attributes in `set` that loads and stores alone do not: remote completion needs a fence.
inline void finish_direct(std::uint64_t set) noexcept {
  if ((set & MPIX_RMA_ATTR_REMOTE_COMPLETION) != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace mpixrma
